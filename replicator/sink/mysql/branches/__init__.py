"""Commits whose rows are divided among several connections: branches of one distributed (XA) transaction."""
