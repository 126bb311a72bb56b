"""What a server says of snapshots before one begins: retention of its log, visibility of commits, plans of chunks."""

from __future__ import annotations

from typing import Final

from replicator.mysql.server import Server
from replicator.mysql.session import Session
from replicator.pipeline.ports import AccessPath, SourceSurvey
from replicator.source.mysql import retention_headroom
from replicator.source.mysql.snapshot import table_ids
from replicator.source.mysql.snapshot.views import settling_s

_LIMITS: Final = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('max_binlog_total_size', 'binlog_space_limit')"
"""Of MariaDB from 11.4 on, and of Percona Server."""
_PARTITIONS: Final = 12
"""Columns of EXPLAIN where one is `partitions`."""


def survey(session: Session, server: Server) -> SourceSurvey:
    newer = server.get("binlog_expire_logs_seconds")
    limits = [int(str(value)) for _, value in session.rows(_LIMITS)]
    proof = "the binlog position of each view" if server.mariadb else "gtid_executed" if server.gtid else ""
    return SourceSurvey(
        retention_s=retention_headroom.retention(server),
        retention_variable="binlog_expire_logs_seconds" if newer else "expire_logs_days",
        retention_bytes=min((limit for limit in limits if limit), default=0),
        proof=proof,
        wait_s=0.0 if proof else settling_s(session),
        numbered=table_ids.read(session, server) is not None,
    )


def path(session: Session, server: Server, select: str) -> AccessPath:
    """Of a SELECT of a chunk that does not begin with the table."""
    traditional = "FORMAT=TRADITIONAL " if not server.mariadb and server.version >= (5, 7) else ""
    row = session.rows(f"EXPLAIN {traditional}{select}")[0]
    kind, extra = str(row[4 if len(row) == _PARTITIONS else 3]), str(row[-1])
    if "filesort" in extra or "temporary" in extra:
        return "sort"
    return "scan" if kind in ("index", "ALL") else "range"
