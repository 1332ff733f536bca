"""Whether the node is live and ready, and why: phases, progress, the page that says so."""
