"""`replicator check` for sinks that are MySQL or MariaDB servers: asks, never changes anything."""

from replicator.sink.mysql.checks.check import check
from replicator.sink.mysql.checks.expected import ExpectedColumn, ExpectedTable, SourceFacts

__all__ = ["ExpectedColumn", "ExpectedTable", "SourceFacts", "check"]
