"""The CNI plugin: what a container runtime asks for, and how a pod gets its addresses, its cable and its record."""
