"""One picture of the cluster: typed facts from all exhibits, each with its place; conflicts are kept."""
