"""What lies between the machines: TRT9xxx."""
