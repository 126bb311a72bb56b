"""Connects the decoder to its compiled part (`replicator.compiled`)."""
