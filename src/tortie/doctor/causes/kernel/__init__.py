"""The kernel and the host's network: TRT7xxx."""
