"""`tortie datastore migrate`: the cluster's data in calicoctl's migration file, out and in."""
