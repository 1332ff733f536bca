"""IP addresses for pods and tunnels: blocks, handles and affinities as Calico keeps them, and who gets what."""
