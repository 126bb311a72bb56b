"""Snapshots: rows that are in a table now, read by chunks and given as binlog events."""

from replicator.source.mysql.snapshot.source import MySQLSnapshotSource

__all__ = ["MySQLSnapshotSource"]
