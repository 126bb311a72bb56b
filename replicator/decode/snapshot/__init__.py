"""Rows of snapshots: chunks become batches of records."""
