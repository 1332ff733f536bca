"""What can be broken in a lab on purpose, and how it is made whole again."""
