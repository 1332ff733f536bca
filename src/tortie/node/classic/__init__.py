"""Classic mode: a node that starts the way a release of Calico does. For the lab and the doctor's tests only."""
