"""What is stored and has no effect yet: said once, in `table`, and told the same everywhere.

`reasons` has the sentences, `table` every field of every kind, `notes` turns documents into what people are told.
Nothing here is imported by a command that only reads.
"""
