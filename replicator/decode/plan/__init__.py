"""Compiles plans: which columns are read, how, and the functions that do it."""
