"""This machine: its kernel, namespaces, processes, files."""
