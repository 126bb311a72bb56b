"""Delivery proved by history: what a writer committed against what consumers saw. See history.py and verdict.py."""
