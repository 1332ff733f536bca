"""A whole cluster on one machine: each node a network namespace with the shipped agent and the real BIRD."""
