"""Tests the privileges of the account by using them, so that roles and wildcards count as on the server."""

from __future__ import annotations

import hashlib

from replicator.errors import SourceError
from replicator.model.finding import Finding
from replicator.mysql import server_errors
from replicator.mysql.identifiers import quote_account
from replicator.mysql.server import Server
from replicator.mysql.session import Session
from replicator.mysql.sides import SOURCE
from replicator.source.mysql import dump
from replicator.source.mysql.logs import logs


def check(session: Session, server: Server, task: str, server_id: int) -> list[Finding]:
    account = quote_account(server.account)
    findings = []
    for privilege, attempt in (
        ("REPLICATION CLIENT", lambda: logs(session)),
        ("REPLICATION SLAVE", lambda: dump.register(session, server, f"check of {task}", _another_id(server_id))),
    ):
        if privilege == "REPLICATION CLIENT" and server.get("log_bin") != "ON":
            continue  # the question itself is an error there
        id_ = f"source.grant.{privilege.lower().replace(' ', '_')}"
        try:
            attempt()
            findings.append(Finding.ok(id_, f"{account} has {privilege}"))
        except SourceError as error:
            missing = error.code == "E2104"
            told = server_errors.missing_privilege(SOURCE, account, privilege, error.found) if missing else error
            findings.append(Finding.of_error(id_, told))
    return findings


def _another_id(server_id: int) -> int:
    """Registering under the task's own id would hide its running instance from SHOW REPLICAS."""
    return (1 << 31) | int.from_bytes(hashlib.sha256(f"check {server_id}".encode()).digest()[:4], "big")
