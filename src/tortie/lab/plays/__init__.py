"""Incidents, told while they happen."""
