"""What `tortie node ...` does, one module per command."""
