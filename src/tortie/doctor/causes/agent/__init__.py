"""The agent's start and its probes: TRT3xxx."""
