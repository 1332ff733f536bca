"""Pods' addresses and pools: TRT5xxx."""
