"""Which address a node takes, and why: Calico's methods by version, Tortie's own, conflicts, default pools."""
