"""Compares the rows of a task's source with those of its target. See DESIGN.md."""
