"""What `tortie controllers ...` does."""
