"""Can this server be streamed from? What `replicator check` asks MySQL or MariaDB, a group of questions a file."""

from replicator.source.mysql.checks.check import Checked, check

__all__ = ["Checked", "check"]
