"""Bytes to typed facts: sources are opened safely, cut into exhibits, and each exhibit is read by what it contains."""
