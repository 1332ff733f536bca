"""Filters and policies: TRT8xxx."""
