"""Snapshots: rows that are in a table now, read by chunks and given as binlog events."""
