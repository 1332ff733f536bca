"""The agent: a start in phases, registration, and what keeps the node right afterwards."""
