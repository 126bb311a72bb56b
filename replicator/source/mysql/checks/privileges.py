"""Tests the privileges of the account by using them, so that roles and wildcards count as on the server."""

from __future__ import annotations

import hashlib

from replicator.errors import SourceError
from replicator.model.finding import Finding
from replicator.source.mysql import dump, server_errors
from replicator.source.mysql.identifiers import quote_account
from replicator.source.mysql.server import Server, logs
from replicator.source.mysql.session import Session


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
            if error.code == "E2104":
                error = server_errors.missing_privilege(account, privilege, error.found)
            findings.append(Finding.of_error(id_, error))
    return findings


def _another_id(server_id: int) -> int:
    """Registering under the task's own id would hide its running instance from SHOW REPLICAS."""
    return (1 << 31) | int.from_bytes(hashlib.sha256(f"check {server_id}".encode()).digest()[:4], "big")
