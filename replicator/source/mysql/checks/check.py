"""Runs all checks in order, and omits later ones when an earlier result makes them pointless."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec

from replicator.config.task import MySQLSource
from replicator.errors import SourceError
from replicator.host.network import is_loopback
from replicator.model.finding import Finding
from replicator.model.position import Position
from replicator.mysql.server import Server, read_server
from replicator.mysql.session import Session
from replicator.net import encryption_checks
from replicator.source.mysql import positions
from replicator.source.mysql.checks import loop_guard, privileges, server_ids, tables, variables
from replicator.source.mysql.event_headers import event_length, read_origin
from replicator.source.mysql.origin import OriginReader


class Checked(msgspec.Struct):
    """`tables`: (database, table) of all that the task would carry now; for the checks of the sink."""

    findings: list[Finding]
    tables: list[tuple[str, str]]


def check(config: MySQLSource, task: str, password: str, server_id: int, position: Position | None = None) -> Checked:
    """Asks the server; never raises for what it answers.

    Args:
        server_id: our replica id.
        position: where the task would go on; None: at its configured start.
    """
    began = time.monotonic()
    try:
        session = Session(config, password)
    except SourceError as error:
        return Checked([Finding.of_error("source.reachable", error)], [])
    with session:
        took = (time.monotonic() - began) * 1000
        reachable = Finding.ok("source.reachable", f"{session.where} as {config.user}, logged in after {took:.0f} ms")
        done = Checked([reachable, *_encryption(config, session)], [])
        try:
            _ask(session, config, task, password, server_id, position, done)
        except SourceError as error:  # the connection broke between two questions
            done.findings.append(Finding.of_error("source.connection", error))
        return done


def _encryption(config: MySQLSource, session: Session) -> list[Finding]:
    fix = "Renew the certificate of the server; then ALTER INSTANCE RELOAD TLS (MySQL) or FLUSH SSL (MariaDB)."
    return [
        encryption_checks.encrypted("source", config.tls, [config.host or ""]),
        *login(config),
        *encryption_checks.server_certificate("source", session.where, session.certificate_days, fix),
        *encryption_checks.ending_files("source", config.tls),
    ]


_CACHED: Final = (
    "caching_sha2_password logins succeed only while the server has the password in its cache, until its restart"
)


def login(config: MySQLSource) -> list[Finding]:
    """What a password goes out under where the server is not verified: only what somebody should know."""
    if is_loopback(config.host or ""):
        return []
    if config.tls is not None:
        return _login_over_tls(config) if config.tls.insecure else []
    if config.server_public_key is not None:
        return []
    fix = "Set `source.tls`, or set `source.server_public_key` to the server's public_key.pem."
    wanted = "a server that is verified or whose key is known"
    if config.get_server_public_key:
        found = "the password is encrypted with any key that the server sends (source.get_server_public_key)"
        return [Finding("source.login", "warn", found, wanted, fix)]
    if config.type != "mysql":
        return []
    return [Finding("source.login", "warn", _CACHED, wanted, fix)]


def _login_over_tls(config: MySQLSource) -> list[Finding]:
    fix = "Set `source.tls.ca` and remove `source.tls.insecure`."
    if config.send_password_unverified:
        found = "the password is sent to any server that answers (source.send_password_unverified)"
    elif config.type == "mysql":
        found = _CACHED
    else:
        return []
    return [Finding("source.login", "warn", found, "a verified server", fix)]


def _ask(
    session: Session,
    config: MySQLSource,
    task: str,
    password: str,
    server_id: int,
    position: Position | None,
    done: Checked,
) -> None:
    server = read_server(session)
    done.findings += variables.check(server, config)
    granted = privileges.check(session, server, task, server_id)
    done.findings += granted
    found, done.tables = tables.check(session, server, config)
    done.findings += found
    if all(finding.severity == "ok" for finding in granted) and server.get("log_bin") == "ON":
        done.findings += server_ids.check(session, server, task, server_id)
        logged = {database for database, _ in done.tables} | loop_guard.databases(session, config)
        done.findings += variables.check_filters(session, server, logged)
        done.findings += loop_guard.check(session, server, config)
        length = partial(event_length, config, password, task, server)
        looking = partial(read_origin, config, password, task, server)
        done.findings.append(_position(session, server, config, position, length, looking))
    done.findings.append(_clock(session, server))


def _position(
    session: Session,
    server: Server,
    config: MySQLSource,
    position: Position | None,
    event_length: Callable[[Position], int],
    read_origin: OriginReader,
) -> Finding:
    def answer(make: Callable[[], Position]) -> Finding:
        try:
            found = make()
            positions.check(session, server, found, read_origin)
        except SourceError as error:
            return Finding.of_error("source.position", error)
        gtid = f", after {found.gtid}" if found.gtid else ""
        return Finding.ok("source.position", f"{found}{gtid}: available")

    if position is not None:
        return answer(lambda: position)
    return answer(lambda: positions.start_position(session, server, config, event_length, read_origin))


def _clock(session: Session, server: Server) -> Finding:
    """Half the round trip is taken as the way there. Only lag and timestamps suffer from a skew. MySQL before 5.6.4
    tells whole seconds."""
    before = time.time()
    if server.version >= (5, 6, 4):
        theirs = float(session.value("SELECT UNIX_TIMESTAMP(NOW(6))"))
    else:
        theirs = float(session.value("SELECT UNIX_TIMESTAMP()")) + 0.5
    after = time.time()
    skew = theirs - (before + after) / 2
    shown = f"{skew:+.3f} s relative to this host"
    if abs(skew) - (after - before) / 2 <= 1:
        return Finding.ok("source.clock", shown)
    return Finding(
        "source.clock",
        "warn",
        shown,
        "within 1 s: otherwise the lag shown is wrong",
        "Synchronise both clocks with NTP.",
    )
