"""`tortie cluster diags`: what a whole cluster says, from its datastore and from Kubernetes."""
