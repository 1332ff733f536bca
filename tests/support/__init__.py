"""Real parts for the tests: servers that start in a blink and leave nothing behind."""
