"""Runs all checks of a target, on each of its servers."""

from __future__ import annotations

import time

from replicator.config.ddl import rules_of
from replicator.config.mysql_sink import MySQLSink
from replicator.errors import ReplicatorError
from replicator.model.finding import Finding
from replicator.mysql.hosts import candidates
from replicator.mysql.server import Server, read_server
from replicator.mysql.session import Session
from replicator.net import encryption_checks
from replicator.sink.mysql.checks import conflicts, privileges, settings, tables
from replicator.sink.mysql.checks.expected import SourceFacts

_CERTIFICATE: str = (
    "Renew the certificate of the server; then ALTER INSTANCE RELOAD TLS (MySQL) or FLUSH SSL (MariaDB)."
)


def check(config: MySQLSink, password: str, source: SourceFacts) -> list[Finding]:
    """Never raises for what a server answers. Tables are compared on the first server that takes writes."""
    findings: list[Finding] = []
    compared = False
    for member in candidates(config):
        began = time.monotonic()
        try:
            session = Session(member, password)
        except ReplicatorError as error:
            findings.append(Finding.of_error("sink.reachable", error))
            continue
        with session:
            took = (time.monotonic() - began) * 1000
            said = f"{session.where} as {config.user}, logged in after {took:.0f} ms"
            findings += [Finding.ok("sink.reachable", said), *_encryption(member, session)]
            try:
                server = read_server(session)
                found, writable = _server(session, server, config)
                findings += found
                if writable and not compared:
                    compared = True
                    findings += _contents(session, server, config, source)
            except ReplicatorError as error:  # the connection broke between two questions
                findings.append(Finding.of_error("sink.connection", error))
    return findings


def _encryption(config: MySQLSink, session: Session) -> list[Finding]:
    return [
        encryption_checks.encrypted("sink", config.tls, [config.host or ""]),
        *encryption_checks.server_certificate("sink", session.where, session.certificate_days, _CERTIFICATE),
        *encryption_checks.ending_files("sink", config.tls),
    ]


def _server(session: Session, server: Server, config: MySQLSink) -> tuple[list[Finding], bool]:
    """Findings, and whether it takes writes."""
    writable = settings.read_only(session, server, of_several=len(config.hosts) > 1)
    found = [settings.version(server, config), writable, *settings.durability(server), settings.binlog(server, config)]
    found += settings.strictness(server)
    return found, writable.severity == "ok" and settings.takes_writes(session)


def _contents(session: Session, server: Server, config: MySQLSink, source: SourceFacts) -> list[Finding]:
    findings = [settings.session_settings(), settings.event_scheduler(session, server, source)]
    applied, mode = privileges.of_server(session, server, config)
    findings += [*applied, *privileges.of_loads(server, config, mode)]
    findings += privileges.of_positions(session, server, config)
    findings += privileges.of_branches(session, server, config)
    findings += conflicts.of_table(session, server, config)
    if source.tables is None:
        return findings
    compared, present = tables.check(session, server, config, source, mode)
    findings += privileges.of_tables(session, server, present)
    if rules_of(config.ddl).applies or config.create_tables:
        findings += privileges.of_ddl(session, server, sorted({table.target[0] for table in source.tables}))
    findings += [settings.packet(server, session, source, mode), *compared]
    if rules_of(config.ddl).applies or config.create_tables:
        findings.append(privileges.of_mark(session, server))
    return findings
