"""Tortie: Calico networking that starts, and says why when it does not."""

__version__ = "0.1.0"
