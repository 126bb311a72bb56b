"""The health check, the only route without a token; it discloses as little as possible."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from replicator.coordination.ports import Connection
from replicator.telemetry import hosts
from server import responses
from server.route_helpers import documented, reply

router = APIRouter(tags=["health"])


@router.get("/health", responses=documented(responses.Health), operation_id="readHealth")
def health(request: Request) -> Response:
    """Returns 200 while ZooKeeper is connected, else 503."""
    state: Connection = request.app.state.coordinator.connection
    connected = state is Connection.CONNECTED
    view = responses.Health(
        status="ok" if connected else "unavailable",
        zookeeper=state.value,
        warnings=[*hosts.warnings(request.scope), *request.app.state.warnings],
    )
    return reply(view, 200 if connected else 503)
