"""Hostile input for the doctor: harnesses that run in processes of their own."""
