"""Snapshots in the pipeline: rows that were there before, put into the stream at the right places."""
