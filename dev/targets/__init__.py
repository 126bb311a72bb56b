"""Random transactions on a source while a task applies them to a second server under faults, and a verdict."""
