"""Checks what `source.skip_replicated` relies on: position tables whose changes are in the source's binlog."""

from __future__ import annotations

from replicator.config.task import MySQLSource
from replicator.errors import ReplicatorError
from replicator.model.bookkeeping import POSITION_TABLE
from replicator.model.finding import Finding, listed
from replicator.mysql.identifiers import quote_identifier
from replicator.mysql.remedies import set_global
from replicator.mysql.server import Server
from replicator.mysql.session import Session

_DATABASES = "SELECT TABLE_SCHEMA FROM information_schema.TABLES WHERE TABLE_NAME = %s ORDER BY 1"


def databases(session: Session, config: MySQLSource) -> set[str]:
    """With position tables that the account sees; none without `skip_replicated`."""
    if config.skip_replicated == "none":
        return set()
    return {str(name) for (name,) in session.rows(_DATABASES, (POSITION_TABLE,))}


def check(session: Session, server: Server, config: MySQLSource) -> list[Finding]:
    if config.skip_replicated == "none":
        return []
    return [_tasks(session, config), _numbers(server)]


def _tasks(session: Session, config: MySQLSource) -> Finding:
    id_ = "source.skip_replicated"
    found: set[str] = set()
    unread = []
    for database in sorted(databases(session, config)):
        table = f"{quote_identifier(database)}.{POSITION_TABLE}"
        try:
            found |= {str(task) for (task,) in session.rows(f"SELECT task FROM {table}")}  # noqa: S608 (quoted)
        except ReplicatorError as error:
            if error.transient:
                raise
            unread.append(table)
    writers = f"tasks that write to this server: {listed(sorted(found)) or 'none that the account sees'}"
    if unread:
        writers += f"; the account may not read {listed(unread)}"
    wanted = config.skip_replicated
    unknown = [] if isinstance(wanted, str) else sorted(set(wanted) - found)
    if unknown and found:
        fix = "Correct the names in `source.skip_replicated`; a task that has not started yet has no row."
        return Finding(id_, "warn", writers, f"rows of {listed(unknown)} in {POSITION_TABLE}", fix)
    return Finding.ok(id_, writers)


def _numbers(server: Server) -> Finding:
    """Both sides must not give the same numbers."""
    id_, step, first = "source.auto_increment", *map(server.get, ("auto_increment_increment", "auto_increment_offset"))
    shown = f"auto_increment_increment = {step}, auto_increment_offset = {first}"
    if step not in ("", "1"):
        return Finding.ok(id_, shown)
    wanted = "an increment that is the number of servers, and another offset on each: both sides generate equal keys"
    fix = f"{set_global(server, 'auto_increment_increment', '2')} The same, and auto_increment_offset, on the others."
    return Finding(id_, "warn", shown, wanted, fix)
