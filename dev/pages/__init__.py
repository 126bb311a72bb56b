"""The pages under docs/ that are made from code, one module for each."""
