"""Routes of the processes of the bus and their log lines."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from starlette.responses import Response

from server import responses
from server.route_helpers import By, ProcessLogsOf, documented, reply

router = APIRouter(tags=["processes"])
Id = Annotated[str, Path(description="id of the process, from the list", max_length=64)]


@router.get("/processes", responses=documented(responses.ProcessList), operation_id="listProcesses")
def list_processes(logs: ProcessLogsOf) -> Response:
    """Lists the Cores, Servers and Monitors that are online."""
    return reply(responses.ProcessList(items=[responses.process(one) for one in logs.list()]))


@router.get("/processes/{id}/log", responses=documented(responses.ProcessLog), operation_id="readLog")
def read_log(logs: ProcessLogsOf, by: By, id: Id) -> Response:  # noqa: A002 - as in the path
    """Returns the last log lines of a process, up to 2,000 or 256 kB: it writes them to ZooKeeper for this request, and
    they are removed again. What looks like a secret is replaced. 404 E5110 if no such process is online, 504 E5111 if
    it does not answer within 5 s."""
    process, lines = logs.lines(id, by)
    return reply(responses.ProcessLog(process=responses.process(process), lines=lines))
