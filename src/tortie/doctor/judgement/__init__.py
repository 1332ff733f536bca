"""Symptoms explained by causes: which cause, how sure, what was ruled out, what to ask next."""
