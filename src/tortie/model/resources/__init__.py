"""The types of all resources, a module per subject. `tortie.model.resource.type_of` finds the one of a kind."""
