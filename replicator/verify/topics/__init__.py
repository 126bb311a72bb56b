"""Comparison of a source with topics, by the state of each key that a consumer would rebuild."""
