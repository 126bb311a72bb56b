"""Checks the server id of the server and the replica id of the task."""

from __future__ import annotations

from replicator.errors import SourceError
from replicator.model.finding import Finding
from replicator.mysql.remedies import set_global
from replicator.mysql.server import Server
from replicator.mysql.session import Session
from replicator.source.mysql.dump import host_label


def check(session: Session, server: Server, task: str, server_id: int) -> list[Finding]:
    own = server.get("server_id")
    findings = []
    if own in ("", "0"):
        fix = set_global(server, "server_id", "1")
        findings.append(Finding("source.server_id", "fail", "the server's server_id is 0", "a value other than 0", fix))
    return [*findings, _ours(session, server, task, server_id, own)]


def _ours(session: Session, server: Server, task: str, server_id: int, own: str) -> Finding:
    fix = "Set `source.server_id` to an unused number."
    if own == str(server_id):
        found = f"{server_id} is the id of the server itself"
        return Finding("source.our_server_id", "fail", found, "an id that the server does not use", fix)
    modern = not server.mariadb and server.version >= (8, 0, 22)
    try:
        replicas = session.rows("SHOW REPLICAS" if modern else "SHOW SLAVE HOSTS")
    except SourceError as error:
        if error.code != "E2104":
            raise
        # MariaDB asks for REPLICATION MASTER ADMIN, which a task does not need
        return Finding.ok("source.our_server_id", f"{server_id}; the account may not list the server's replicas")
    rival = next((row for row in replicas if str(row[0]) == str(server_id)), None)
    if rival is None:
        return Finding.ok("source.our_server_id", f"{server_id} is free")
    if str(rival[1]) == host_label(task):
        return Finding.ok("source.our_server_id", f"{server_id} is in use by this task, which is running")
    found = f"{server_id} is in use by {rival[1] or 'a replica without a reported name'}"
    return Finding("source.our_server_id", "fail", found, "an unused id", fix)
