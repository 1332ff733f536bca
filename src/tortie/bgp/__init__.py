"""Who a node speaks BGP with and what is said: decided, written down for BIRD, and read back from it."""
