"""Pictures of a lab, for a terminal, a README, Graphviz or a browser: text from a value, and nothing else."""
