"""kubelet and the container runtime: TRT4xxx."""
