"""Lifecycle of a Server process, as run by `replicator server`."""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Callable
from functools import partial
from pathlib import Path

import click

from replicator.alerts.silence_store import Silences
from replicator.config.certificate_logins import read_certificate_logins
from replicator.config.token import default_token_file, ensure_token
from replicator.coordination.access.audit import AuditLog
from replicator.coordination.access.idempotency import Requests
from replicator.coordination.layout import Layout
from replicator.coordination.logs.answers import LogAnswers
from replicator.coordination.recipes.claim_nodes import Owner
from replicator.coordination.recipes.duties import Duties, Duty, remove_unused
from replicator.host.pid_file import held
from replicator.host.process_record import ProcessRecord
from replicator.telemetry import log
from replicator.telemetry.http import Address, parse_listen, serve
from replicator.telemetry.listen import Listen
from replicator.telemetry.server_certificate import ServerCertificate
from replicator.zookeeper.client import for_process
from replicator.zookeeper.log_service import LogService
from replicator.zookeeper.outage_log import OutageLog
from server.address_probes import AddressProbes
from server.addresses import AddressOperations
from server.app import Access, create_app
from server.audit import Audit
from server.audit_file import AuditFile
from server.authentication import Verifier
from server.background_work import BackgroundWork
from server.cutovers import CutoverDriver, CutoverOperations
from server.membership import Membership
from server.nightly_verifications import NightlyVerifications
from server.outgoing import OutgoingOperations
from server.table_definitions import OpenDefinitions
from server.task_operations import TaskOperations
from server.warning_header import with_warnings


def run(
    zookeeper: str,
    listen: Listen,
    root: str,
    token_file: Path | None,
    audit_file: Path | None,
    oidc: Path | None,
    certificate_logins: Path | None,
    host: str,
    session_timeout: float,
    pid_file: Path | None,
    log_format: str,
    open_definitions: OpenDefinitions,
) -> None:
    """Returns when it was told to stop."""
    log.setup(log_format)
    parse_listen(listen.where)  # what is wrong with it is said before a token is made
    record = ProcessRecord.of("server", zookeeper, root, host=host, listen=listen.where)
    with held(pid_file, record, log.get_logger("server")) as stopping:
        _run(
            zookeeper,
            listen,
            root,
            token_file,
            audit_file,
            oidc,
            certificate_logins,
            host,
            session_timeout,
            open_definitions,
            stopping,
        )


def _run(
    zookeeper: str,
    listen: Listen,
    root: str,
    token_file: Path | None,
    audit_file: Path | None,
    oidc: Path | None,
    certificate_logins: Path | None,
    host: str,
    session_timeout: float,
    open_definitions: OpenDefinitions,
    stopping: Callable[[], None],
) -> None:
    certificate = ServerCertificate(listen.tls) if listen.tls is not None else None
    path = token_file or default_token_file()
    token, made = ensure_token(path)
    print(f"server: token file {path}{' (made now)' if made else ''}", file=sys.stderr, flush=True)
    certificates = read_certificate_logins(certificate_logins) if certificate_logins is not None else {}
    jwt = _verifier(oidc) if oidc is not None else None
    file = AuditFile(audit_file) if audit_file is not None else None
    coordinator = for_process(zookeeper, session_timeout, Layout(root), "server")
    layout = Layout(root)
    outages = OutageLog(coordinator, log.get_logger("server")).start()
    operations = TaskOperations(coordinator, layout)
    cutovers = CutoverOperations(coordinator, layout, operations)
    audit = Audit(AuditLog(coordinator, layout), host, file)
    background_work: list[BackgroundWork] = []
    process = uuid.uuid4().hex
    answers = LogAnswers(coordinator, layout, lambda: process, log.recent.text)
    lines = LogService(coordinator, answers, log.get_logger("server")).start()

    def ready(real: Address) -> None:
        membership = Membership(coordinator, layout, host, real.url, certificate, process)
        requests = Requests(coordinator, layout)
        outgoing = OutgoingOperations(coordinator, layout)
        books = AddressOperations(coordinator, layout)
        probes = AddressProbes(books, lambda: membership.is_master, host, obey=outgoing.obey)
        owner = Owner(by="server", host=host, pid=os.getpid())
        nightly = NightlyVerifications(coordinator, layout, operations.tasks, host)
        daily: dict[str, Duty] = {"unused-nodes": partial(remove_unused, coordinator, layout), "verify": nightly.order}
        duties = Duties(coordinator, layout, owner, daily)
        driver = CutoverDriver(coordinator, layout, operations, owner, cutovers.begun)
        silences = Silences(coordinator, layout)
        background_work.append(
            BackgroundWork(operations, membership, audit, requests, duties, probes, driver, silences)
        )
        background_work[0].start()
        click.echo(real.url)

    try:
        access = Access(token, jwt, audit, certificates)
        app = create_app(coordinator, layout, access, open_definitions, operations, cutovers)
        served = with_warnings(app, coordinator.warnings)
        noted = audit.refusals.note
        serve(served, listen, "server", certificate=certificate, ready=ready, stopping=stopping, refused=noted)
    finally:
        outages.stop()
        lines.stop()
        for one in background_work:
            one.stop()
        audit.note_refusals()
        audit.flush()
        coordinator.close()


def _verifier(path: Path) -> Verifier:
    from replicator.config.oidc import read_oidc  # here: the client that reads its keys would delay each start
    from replicator.net.oidc import Oidc

    return Oidc(read_oidc(path))
