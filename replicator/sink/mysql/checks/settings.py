"""Checks of the target's system variables."""

from __future__ import annotations

from typing import Final

from replicator.config.mysql_sink import MySQLSink
from replicator.model.finding import Finding, listed
from replicator.mysql.durability import weak_settings
from replicator.mysql.remedies import set_global
from replicator.mysql.server import Server
from replicator.mysql.session import Session
from replicator.sink.mysql.apply_mode import Mode
from replicator.sink.mysql.checks.expected import ExpectedTable, SourceFacts
from replicator.sink.mysql.lenient_settings import lenient

_OLDEST: Final = {"mysql": (8, 0), "mariadb": (10, 3)}
_EVENTS: Final = (
    "SELECT EVENT_SCHEMA, EVENT_NAME FROM information_schema.EVENTS "
    "WHERE STATUS = 'ENABLED' AND EVENT_SCHEMA IN ({}) ORDER BY 1, 2"
)
_TEXTS: Final[dict[Mode, tuple[float, str]]] = {
    "binlog": (2 * 4 / 3, "an update of the largest row of {} ({} bytes) has two images in base64"),
    "sql": (2, "the largest row of {} ({} bytes) is written in hexadecimal digits"),
}
"""Bytes of a statement for each byte of a row, and why."""
_OVERHEAD: Final = 64 << 10
_LARGEST: Final = 1 << 30
"""Of max_allowed_packet."""


def version(server: Server, config: MySQLSink) -> Finding:
    shown = f"{server.get('version')} {server.get('version_comment')}".strip()
    if server.flavour != config.type:
        return Finding("sink.version", "fail", shown, config.type, f"Set `sink.type: {server.flavour}`.")
    oldest = _OLDEST[server.flavour]
    if server.version < oldest:
        wanted = f"{server.flavour} {'.'.join(map(str, oldest))} or later"
        return Finding("sink.version", "fail", shown, wanted, f"Upgrade the server to {wanted}.")
    return Finding.ok("sink.version", shown)


def takes_writes(session: Session) -> bool:
    return str(session.value("SELECT @@GLOBAL.read_only")) in ("0", "OFF", "NO_LOCK")


def read_only(session: Session, server: Server, *, of_several: bool) -> Finding:
    names = ["read_only"] if server.mariadb else ["read_only", "super_read_only"]
    found = {name: str(session.value(f"SELECT @@GLOBAL.{name}")) for name in names}
    on = [name for name, value in found.items() if value not in ("0", "OFF")]
    if not on:
        return Finding.ok("sink.read_only", f"{session.where} accepts writes")
    shown = f"{', '.join(f'{name} = ON' for name in on)} on {session.where}"
    if of_several:
        return Finding.ok("sink.read_only", f"{shown}: a replica, used after a fail-over")
    fix = " ".join(set_global(server, name, "OFF") for name in reversed(on))
    return Finding("sink.read_only", "fail", shown, "a server that accepts writes", fix)


def durability(server: Server) -> list[Finding]:
    shown, fixes = weak_settings(server, binlog=server.get("log_bin") == "ON")
    if not fixes:
        return [Finding.ok("sink.durability", shown)]
    why = "1: a target that loses its last transactions in a crash loses their position too, and the task sends them "
    return [Finding("sink.durability", "warn", shown, why + "again while the source has them", " ".join(fixes))]


def strictness(server: Server) -> list[Finding]:
    found = [
        Finding("sink.strict", "fail", f"{one.name} = {one.value}", one.wanted, one.fix) for one in lenient(server)
    ]
    return found or [Finding.ok("sink.strict", "rows that cannot be applied are errors")]


def binlog(server: Server, config: MySQLSink) -> Finding:
    """Replicas of the target, and tasks in the other direction, need its binlog."""
    if server.get("log_bin") == "ON":
        return Finding.ok("sink.log_bin", "ON")
    if len(config.hosts) > 1:
        fix = "Start the server with --log-bin."
        wanted = "log_bin = ON: replicas of the target receive nothing without it"
        return Finding("sink.log_bin", "fail", "OFF", wanted, fix)
    return Finding.ok("sink.log_bin", "OFF: neither replicas of the target nor a task in the other direction can run")


def session_settings() -> Finding:
    return Finding.ok("sink.session", "the task sets sql_mode, time_zone, isolation and timeouts in its own sessions")


def event_scheduler(session: Session, server: Server, source: SourceFacts) -> Finding:
    on = str(session.value("SELECT @@GLOBAL.event_scheduler")).upper() in ("1", "ON")
    databases = sorted({table.target[0] for table in source.tables or ()})
    if not on or not databases:
        return Finding.ok("sink.events", "event_scheduler = ON" if on else "event_scheduler = OFF")
    marks = ", ".join(["%s"] * len(databases))
    rows = session.rows(
        _EVENTS.format(marks),
        databases,
    )
    if not rows:
        return Finding.ok("sink.events", "no enabled events in the target's databases")
    names = [f"{database}.{name}" for database, name in rows]
    fix = f"ALTER EVENT {names[0]} DISABLE; or make sure that it changes no replicated table."
    wanted = "no events that change replicated tables: their changes are in the source's binlog already"
    return Finding("sink.events", "warn", listed(names), wanted, fix)


def packet(server: Server, session: Session, source: SourceFacts, mode: Mode) -> Finding:
    found = int(session.value("SELECT @@GLOBAL.max_allowed_packet") or 0)
    if not source.tables:
        return Finding.ok("sink.max_allowed_packet", str(found))
    largest = max(source.tables, key=_row)
    row = min(_row(largest), source.packet or _LARGEST)
    times, why = _TEXTS[mode]
    needed = min(int(row * times) + _OVERHEAD, _LARGEST)
    if found >= needed:
        return Finding.ok("sink.max_allowed_packet", f"{found}, and {needed} for the largest row")
    wanted = f"{needed}: {why.format(largest.source, row)}"
    shown = f"{found} bytes"
    fix = set_global(server, "max_allowed_packet", str(-(-needed // (1 << 20)) << 20))
    return Finding("sink.max_allowed_packet", "warn", shown, wanted, fix)


def _row(table: ExpectedTable) -> int:
    """Bytes that a row may have. JSON, geometry and vectors have no length in information_schema."""
    return sum(column.facts.octets or _UNKNOWN.get(column.facts.kind, 8) for column in table.columns)


_UNKNOWN: Final = {"json": 1 << 32, "geometry": 1 << 32, "vector": 1 << 16}
