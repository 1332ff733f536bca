"""How packets of pods get from, to and through this node: decided, compared with the kernel, put right."""
