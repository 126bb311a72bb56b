"""Routes of machines: hosts with a Core or an agent."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request
from starlette.responses import Response

from replicator.coordination.layout import unescape
from replicator.model.principal import Principal
from server import task_scope
from server.machine_responses import Machine, MachineEntry, MachineList
from server.request_facts import facts_of
from server.route_helpers import (
    Arguments,
    By,
    LoginOf,
    MachinesOf,
    MaxAge,
    OperationsOf,
    Version,
    body_of,
    documented,
    only,
    reply,
)

router = APIRouter(tags=["machines"])
_REASON = body_of(
    {
        "type": "object",
        "properties": {"reason": {"type": "string", "maxLength": 200}},
        "additionalProperties": False,
    },
    required=False,
)


def _name(
    request: Request, name: Annotated[str, Path(description="name of the machine, escaped with %XX as in a znode")]
) -> str:
    facts_of(request.scope).target = unescape(name)
    return unescape(name)


NameOf = Annotated[str, Depends(_name)]


@router.get("/machines", responses=documented(MachineList), operation_id="listMachines")
def list_machines(machines: MachinesOf, operations: OperationsOf, login: LoginOf, max_age: MaxAge) -> Response:
    """Lists the machines that are online, expected, or ended within a day, with the tasks that the selector of the
    login includes."""
    found = machines.machines(max_age)
    _limit(found, operations, login, max_age)
    return reply(MachineList(items=found))


@router.get("/machines/{name}", responses=documented(Machine), operation_id="readMachine")
def read_machine(
    machines: MachinesOf, operations: OperationsOf, login: LoginOf, name: NameOf, max_age: MaxAge
) -> Response:
    """Returns one machine. 404 E5123 if it is neither online nor expected."""
    found = machines.machine(name, max_age)
    _limit([found], operations, login, max_age)
    return reply(found)


@router.put(
    "/machines/{name}/expectation", responses=documented(Machine), openapi_extra=_REASON, operation_id="expectMachine"
)
def expect_machine(machines: MachinesOf, name: NameOf, by: By, version: Version, arguments: Arguments) -> Response:
    """Expects a machine: while it is not there and has not ended on purpose, it is offline, also if it never came. A
    machine that has reported once is expected without this. 412 E4006 if If-Match is not the version of what is
    expected now."""
    return reply(machines.expect(name, by, only(arguments, "reason").get("reason", "")[:200], version))


@router.delete("/machines/{name}/expectation", status_code=204, operation_id="unexpectMachine")
def unexpect_machine(machines: MachinesOf, name: NameOf, version: Version) -> Response:
    """Forgets a machine that does not come back. 409 E5124 if it is online, 412 E4006 if If-Match is not the version of
    what is expected now; 404 E5123 if it is not expected."""
    machines.forget(name, version)
    return Response(status_code=204)


def _limit(found: list[MachineEntry] | list[Machine], operations: OperationsOf, login: Principal, age: float) -> None:
    if not login.selector:
        return
    seen = {view.name for view in operations.tasks(age) if task_scope.includes(login, view.config)}
    for machine in found:
        machine.tasks = {name: state for name, state in machine.tasks.items() if name in seen}
