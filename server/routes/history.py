"""What happened to a task."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from replicator.coordination.tasks.history import KEPT
from server import views
from server.http import ControlOf, Name, documented, reply

router = APIRouter(tags=["history"])


@router.get("/tasks/{name}/history", responses=documented(views.HistoryList), operation_id="readHistory")
def read_history(control: ControlOf, name: Name, limit: Annotated[int, Query(ge=1, le=KEPT)] = KEPT) -> Response:
    """Role changes and operators' deeds, oldest first; old ones are trimmed."""
    entries = [views.happening(entry) for entry in control.history(name, limit)]
    return reply(views.HistoryList(name=name, items=entries))
