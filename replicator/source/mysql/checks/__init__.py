"""Checks of `replicator check` on MySQL and MariaDB, one group per file."""

from replicator.source.mysql.checks.check import Checked, check

__all__ = ["Checked", "check"]
