"""The datastore and the API server: TRT2xxx."""
