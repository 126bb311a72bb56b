"""Rows of the target that are not what the source says they were."""
