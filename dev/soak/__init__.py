"""`make soak`: random faults under load, and a verdict over everything that was written and seen."""
