"""Route of a task's history."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from replicator.coordination.tasks.history import KEPT
from server import responses
from server.route_helpers import Name, OperationsOf, documented, reply

router = APIRouter(tags=["history"])


@router.get("/tasks/{name}/history", responses=documented(responses.HistoryList), operation_id="readHistory")
def read_history(operations: OperationsOf, name: Name, limit: Annotated[int, Query(ge=1, le=KEPT)] = KEPT) -> Response:
    """Returns role changes and operators' commands, oldest first. Old entries are removed."""
    entries = [responses.history_event(entry) for entry in operations.history(name, limit)]
    return reply(responses.HistoryList(name=name, items=entries))
