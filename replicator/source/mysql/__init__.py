"""MySQL and MariaDB as a source of binlog events."""

from replicator.source.mysql.source import MySQLSource

__all__ = ["MySQLSource"]
