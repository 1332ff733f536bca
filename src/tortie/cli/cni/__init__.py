"""What `tortie cni ...` does, apart from how it is called."""
