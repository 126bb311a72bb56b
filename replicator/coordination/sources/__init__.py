"""Locks of sources: the tasks that read one pause while an operator changes it."""
