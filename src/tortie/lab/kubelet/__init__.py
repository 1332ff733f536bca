"""The small kubelet of a lab: it runs the node's programs as the pods that they are, and keeps the records."""
