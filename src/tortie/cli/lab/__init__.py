"""What the `tortie lab` commands do."""
