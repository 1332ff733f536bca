"""Versions, images and rights: TRT0xxx."""
