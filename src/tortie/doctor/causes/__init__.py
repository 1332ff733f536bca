"""The catalogue: one module for each cause, named after its code and id."""
