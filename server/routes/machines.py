"""The machines that run Cores."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from server import views
from server.http import ControlOf, documented, reply

router = APIRouter(tags=["machines"])


@router.get("/machines", responses=documented(views.MachineList), operation_id="listMachines")
def list_machines(control: ControlOf) -> Response:
    """Every Core process that is online."""
    return reply(views.MachineList(items=[views.machine(node) for node in control.machines()]))
