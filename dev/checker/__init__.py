"""Checks delivery by history: compares what a writer committed with what consumers read. See history.py and
verdict.py."""
