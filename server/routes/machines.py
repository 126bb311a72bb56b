"""Route of the machines that run Cores."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from server import responses
from server.route_helpers import OperationsOf, documented, reply

router = APIRouter(tags=["machines"])


@router.get("/machines", responses=documented(responses.MachineList), operation_id="listMachines")
def list_machines(operations: OperationsOf) -> Response:
    """Lists the Core processes that are online."""
    return reply(responses.MachineList(items=[responses.machine(node) for node in operations.machines()]))
