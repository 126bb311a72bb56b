"""Route of the machines that run Cores."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from server import responses, task_scope
from server.route_helpers import LoginOf, MaxAge, OperationsOf, documented, reply

router = APIRouter(tags=["machines"])


@router.get("/machines", responses=documented(responses.MachineList), operation_id="listMachines")
def list_machines(operations: OperationsOf, login: LoginOf, max_age: MaxAge) -> Response:
    """Lists the Core processes that are online, with the tasks that the selector of the login includes."""
    machines = [responses.machine(node) for node in operations.machines(max_age)]
    if login.selector:
        seen = {view.name for view in operations.tasks(max_age) if task_scope.includes(login, view.config)}
        for machine in machines:
            machine.tasks = {name: state for name, state in machine.tasks.items() if name in seen}
    return reply(responses.MachineList(items=machines))
