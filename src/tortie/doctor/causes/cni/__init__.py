"""CNI files and plugins: TRT6xxx."""
