"""Nodes' addresses, names and BGP: TRT1xxx."""
