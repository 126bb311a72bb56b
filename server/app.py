"""The API as one ASGI application, built from its arguments."""

from __future__ import annotations

from typing import Any

from fastapi import Depends, FastAPI
from fastapi.openapi.utils import get_openapi

import replicator
from replicator.config.task import TaskConfig
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator
from replicator.telemetry.hosts import App
from server import access_control, error_responses, route_helpers
from server.positions import Positions
from server.routes import (
    actions,
    health,
    history,
    machines,
    positions,
    quarantine,
    snapshots,
    table_definitions,
    tasks,
    verifications,
)
from server.table_definitions import DefinitionOperations, OpenDefinitions
from server.task_operations import TaskOperations

PREFIX = "/api/v1"
ROUTERS = (
    tasks.router,
    actions.router,
    positions.router,
    quarantine.router,
    snapshots.router,
    verifications.router,
    table_definitions.router,
    history.router,
    machines.router,
    health.router,
)


def create_app(
    coordinator: Coordinator,
    layout: Layout,
    token: str,
    open_definitions: OpenDefinitions,
    operations: TaskOperations | None = None,
) -> App:
    """The guarded application. `token`: what every request but health must bear."""
    return access_control.authenticated(
        access_control.limited(create_routes(coordinator, layout, open_definitions, operations)), token
    )


def create_routes(
    coordinator: Coordinator,
    layout: Layout,
    open_definitions: OpenDefinitions,
    operations: TaskOperations | None = None,
) -> FastAPI:
    """The routes without their guard; the OpenAPI document is made from these."""
    app = FastAPI(
        title="mysql-replicator",
        version=getattr(replicator, "__version__", "v1"),
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.coordinator = coordinator
    app.state.warnings = list(getattr(coordinator, "warnings", ()))
    app.state.operations = operations or TaskOperations(coordinator, layout)
    app.state.positions = Positions(coordinator, layout)
    app.state.table_definitions = DefinitionOperations(coordinator, layout, open_definitions)
    for router in ROUTERS:
        app.include_router(router, prefix=PREFIX, dependencies=[Depends(error_responses.require_connection)])
    error_responses.install(app)
    app.openapi = lambda: _document(app)  # type: ignore[method-assign]
    return app


def _document(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        made = get_openapi(title=app.title, version=app.version, routes=app.routes)
        _document_errors(made["paths"])
        components = made.setdefault("components", {})
        components.setdefault("schemas", {}).update(route_helpers.schemas() | _config_schemas())
        components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        made["security"] = [{"token": []}]
        made["paths"][f"{PREFIX}/health"]["get"]["security"] = []
        app.openapi_schema = made
    return app.openapi_schema


def _document_errors(paths: dict[str, Any]) -> None:
    """Every error has one form; the one that FastAPI would describe for 422 is not ours."""
    schema = {"$ref": "#/components/schemas/Failure"}
    error = {"description": "an error", "content": {"application/json": {"schema": schema}}}
    for operation in (operation for methods in paths.values() for operation in methods.values()):
        operation["responses"].pop("422", None)
        operation["responses"]["default"] = error


def _config_schemas() -> dict[str, Any]:
    made = TaskConfig.model_json_schema(ref_template="#/components/schemas/{model}")
    return {**made.pop("$defs"), "TaskConfig": made}
