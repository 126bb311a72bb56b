"""The API as one ASGI application, built from its arguments."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from fastapi import Depends, FastAPI

import replicator
from replicator.alerts.silence_store import Silences
from replicator.coordination.access.audit import AuditLog
from replicator.coordination.access.idempotency import Requests
from replicator.coordination.access.logins import Logins
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator
from replicator.model.principal import Principal
from replicator.telemetry.hosts import App
from server import access_control, error_responses
from server.addresses import AddressOperations
from server.audit import Audit, audited
from server.authentication import Authentication, Verifier
from server.checks import CheckOperations
from server.cutovers import CutoverOperations
from server.document import document
from server.group_operations import GroupOperations
from server.idempotency import idempotent
from server.login_operations import LoginOperations
from server.machine_operations import MachineOperations
from server.outgoing import OutgoingOperations
from server.positions import Positions
from server.process_logs import ProcessLogs
from server.route_table import RouteTable
from server.routes import (
    actions,
    addresses,
    audit,
    checks,
    cluster,
    cutovers,
    documentation,
    edits,
    groups,
    health,
    history,
    logins,
    machines,
    outgoing,
    positions,
    processes,
    quarantine,
    secrets,
    silences,
    snapshots,
    sources,
    table_definitions,
    tasks,
    verifications,
    versions,
)
from server.sealing import Sealing
from server.source_operations import SourceOperations
from server.table_definitions import DefinitionOperations, OpenDefinitions
from server.task_operations import TaskOperations
from server.task_scope import TaskScope
from server.versions import VersionOperations

PREFIX = "/api/v1"
ROUTERS = (
    tasks.router,
    versions.router,
    actions.router,
    edits.router,
    positions.router,
    quarantine.router,
    secrets.router,
    snapshots.router,
    verifications.router,
    table_definitions.router,
    history.router,
    machines.router,
    groups.router,
    cutovers.router,
    sources.router,
    processes.router,
    cluster.router,
    outgoing.router,
    silences.router,
    addresses.router,
    health.router,
    logins.router,
    audit.router,
    checks.router,
    documentation.router,
)


def route_table() -> RouteTable:
    return RouteTable([*((PREFIX, router) for router in ROUTERS), ("", documentation.page_router)])


class Access(NamedTuple):
    """How requests are admitted, and where they are noted.

    Attributes:
        token: of the Server's file: an admin.
        jwt: verifies tokens of an identity provider; None: there is none.
        audit: None: entries go to ZooKeeper only.
        certificates: logins by the common name of client certificates.
    """

    token: str
    jwt: Verifier | None = None
    audit: Audit | None = None
    certificates: Mapping[str, Principal] = MappingProxyType({})


def create_app(
    coordinator: Coordinator,
    layout: Layout,
    access: Access,
    open_definitions: OpenDefinitions,
    operations: TaskOperations | None = None,
    cutovers_of: CutoverOperations | None = None,
) -> App:
    """The guarded application."""
    verified = Logins(coordinator, layout)
    routes = create_routes(coordinator, layout, open_definitions, operations, verified, cutovers_of)
    guarded = access_control.authorized(
        access_control.limited(idempotent(routes, Requests(coordinator, layout))),
        route_table(),
        Authentication(access.token, verified, access.jwt, access.certificates),
        TaskScope(coordinator, layout),
    )
    return audited(guarded, access.audit or Audit(AuditLog(coordinator, layout)))


def create_routes(
    coordinator: Coordinator,
    layout: Layout,
    open_definitions: OpenDefinitions,
    operations: TaskOperations | None = None,
    verified: Logins | None = None,
    cutovers_of: CutoverOperations | None = None,
) -> FastAPI:
    """The routes without their guard; the OpenAPI document is made from these."""
    app = FastAPI(
        title="mysql-replicator",
        version=getattr(replicator, "__version__", "v1"),
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.coordinator = coordinator
    app.state.warnings = list(getattr(coordinator, "warnings", ()))
    app.state.operations = operations or TaskOperations(coordinator, layout)
    verified = verified or Logins(coordinator, layout)
    app.state.logins = LoginOperations(coordinator, layout, verified)
    app.state.addresses = AddressOperations(coordinator, layout)
    app.state.audit = AuditLog(coordinator, layout)
    app.state.groups = GroupOperations(coordinator, layout, app.state.operations)
    app.state.machines = MachineOperations(coordinator, layout, app.state.operations)
    app.state.cutovers = cutovers_of or CutoverOperations(coordinator, layout, app.state.operations)
    app.state.sources = SourceOperations(coordinator, layout, app.state.operations)
    app.state.checks = CheckOperations(coordinator, layout, app.state.operations)
    app.state.versions = VersionOperations(coordinator, layout, app.state.operations)
    app.state.silences = Silences(coordinator, layout)
    app.state.outgoing = OutgoingOperations(coordinator, layout)
    app.state.sealing = Sealing(app.state.operations.installation)
    app.state.process_logs = ProcessLogs(coordinator, layout)
    app.state.positions = Positions(coordinator, layout)
    app.state.table_definitions = DefinitionOperations(coordinator, layout, open_definitions)
    for router in ROUTERS:
        app.include_router(router, prefix=PREFIX, dependencies=[Depends(error_responses.require_connection)])
    app.include_router(documentation.page_router)
    error_responses.install(app)
    app.openapi = lambda: _document(app)  # type: ignore[method-assign]
    return app


def _document(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        app.openapi_schema = document(app)
    return app.openapi_schema
