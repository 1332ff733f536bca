"""The records of the kubelets in the forms of kubectl."""
