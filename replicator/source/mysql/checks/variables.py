"""Checks of the server's system variables."""

from __future__ import annotations

from replicator.config.task import MySQLSource
from replicator.errors import SourceError
from replicator.model.finding import Finding
from replicator.mysql.durability import weak_settings
from replicator.mysql.remedies import set_global
from replicator.mysql.server import Server
from replicator.mysql.session import Session
from replicator.source.mysql import preflight
from replicator.source.mysql.logs import current_log
from replicator.source.mysql.preflight import set_for_sessions

_DAY = 86_400
_NAMES = "binlog_row_metadata"


def check(server: Server, config: MySQLSource) -> list[Finding]:
    findings = [_version(server, config), _log_bin(server), *_row_events(server, config)]
    findings += [_retention(server), _gtid(server), *_durability(server), *_replication(server)]
    return findings


def _version(server: Server, config: MySQLSource) -> Finding:
    shown = f"{server.get('version')} {server.get('version_comment')}".strip()
    try:
        preflight.check_flavour(server, config)
        preflight.check_release(server)
    except SourceError as error:
        return Finding.of_error("source.version", error)
    return Finding.ok("source.version", shown)


def _log_bin(server: Server) -> Finding:
    try:
        preflight.check_log_bin(server)
    except SourceError as error:
        return Finding.of_error("source.log_bin", error)
    return Finding.ok("source.log_bin", "ON")


def _row_events(server: Server, config: MySQLSource) -> list[Finding]:
    findings = []
    for name, wanted in (("binlog_format", "ROW"), ("binlog_row_image", "FULL")):
        found = server.get(name)
        shown = found or "not supported by this release"
        if found.upper() == wanted or preflight.accepted(config, name, found):
            findings.append(Finding.ok(f"source.{name}", shown))
        else:
            fix = set_for_sessions(server, name, f"'{wanted}'")
            findings.append(Finding(f"source.{name}", "fail", shown, wanted, fix))
    return [*findings, _metadata(server)]


def _metadata(server: Server) -> Finding:
    found = server.get(_NAMES)
    if found.upper() == "FULL":
        return Finding.ok(f"source.{_NAMES}", found)
    if not found:  # MySQL before 8.0, MariaDB before 10.5
        return Finding.ok(f"source.{_NAMES}", "not supported by this release: names are read from the schema history")
    shown = f"{found}: names are read from the schema history"
    return Finding(f"source.{_NAMES}", "warn", shown, "FULL", set_for_sessions(server, _NAMES, "'FULL'"))


def _retention(server: Server) -> Finding:
    seconds = int(float(server.get("binlog_expire_logs_seconds") or 0))
    seconds = seconds or int(float(server.get("expire_logs_days") or 0) * _DAY)
    if seconds == 0:
        return Finding.ok("source.retention", "binlogs are kept until they are purged manually")
    shown = f"binlogs are deleted after {seconds / 3600:.1f} h"
    if seconds >= _DAY:
        return Finding.ok("source.retention", shown)
    newer = server.get("binlog_expire_logs_seconds")
    fix = set_global(server, "binlog_expire_logs_seconds" if newer else "expire_logs_days", "604800" if newer else "7")
    return Finding("source.retention", "warn", shown, "24 h or more: a task that is stopped for longer loses rows", fix)


def _gtid(server: Server) -> Finding:
    if server.mariadb:
        return Finding.ok("source.gtid", "every transaction has a GTID")
    mode, consistent = server.get("gtid_mode"), server.get("enforce_gtid_consistency")
    if not mode:
        wanted = "GTIDs: positions then survive a fail-over of the source and reach beyond 4 GiB of a file"
        return Finding("source.gtid", "warn", "this release has no GTIDs", wanted, "Upgrade to MySQL 5.6 or later.")
    shown = f"gtid_mode = {mode}, enforce_gtid_consistency = {consistent}"
    if mode == "ON" and consistent == "ON":
        return Finding.ok("source.gtid", shown)
    wanted = "both ON: positions then survive a fail-over of the source and reach beyond 4 GiB of a file"
    return Finding(
        "source.gtid", "warn", shown, wanted, "Switch to gtid_mode = ON step by step (see the MySQL manual)."
    )


def _durability(server: Server) -> list[Finding]:
    shown, fixes = weak_settings(server, binlog=True)
    if not fixes:
        return [Finding.ok("source.durability", shown)]
    wanted = "both 1: otherwise a crash of the source can lose transactions that were delivered"
    return [Finding("source.durability", "warn", shown, wanted, " ".join(fixes))]


def _replication(server: Server) -> list[Finding]:
    findings = []
    if server.get("wsrep_on") == "ON":
        wanted = "a single node for all writes, or wsrep_gtid_mode"
        findings.append(Finding("source.galera", "warn", "a Galera node", wanted, "Set wsrep_gtid_mode = ON."))
    updates = server.get("log_replica_updates") or server.get("log_slave_updates")
    if server.get("read_only") == "ON" and updates == "OFF":
        wanted = "log_replica_updates = ON on a replica: otherwise it does not log replicated changes"
        fix = (
            "Start the server with log_slave_updates=ON." if server.mariadb else "Start it with log_replica_updates=ON."
        )
        findings.append(Finding("source.replica", "fail", "read_only and log_replica_updates = OFF", wanted, fix))
    return findings


def check_filters(session: Session, server: Server, databases: set[str]) -> list[Finding]:
    """binlog_do_db and binlog_ignore_db, which no variable shows. `databases`: those of the task's tables."""
    status = current_log(session, server) or ("", 0, "", "")
    do, ignore = _names(status[2]), _names(status[3])
    shown = ", ".join(
        f"{name} = {','.join(sorted(value))}"
        for name, value in (("binlog_do_db", do), ("binlog_ignore_db", ignore))
        if value
    )
    lost = (databases - do if do else set()) | (databases & ignore)
    if lost:
        wanted = f"changes of {', '.join(sorted(lost))} in the binlog"
        fix = "Remove binlog_do_db / binlog_ignore_db from the server's configuration file and restart it."
        return [Finding("source.binlog_filters", "fail", shown, wanted, fix)]
    return [Finding.ok("source.binlog_filters", shown or "none")]


def _names(text: object) -> set[str]:
    return {name for name in str(text or "").split(",") if name}
