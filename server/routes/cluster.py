"""Route of the installation that a Server belongs to."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from server import responses
from server.route_helpers import OperationsOf, documented, reply

router = APIRouter(tags=["cluster"])


@router.get("/cluster", responses=documented(responses.Cluster), operation_id="readCluster")
def read_cluster(operations: OperationsOf) -> Response:
    """Returns the id of the installation, which is part of the names that tasks have at their sinks."""
    return reply(responses.Cluster(installation=operations.installation()))
