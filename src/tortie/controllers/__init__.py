"""Cleaning up after nodes and pods that are gone: one leader for the whole cluster, and no hurry."""
