"""Route of the audit."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from replicator.model.audit import AuditEntry
from server import access_responses
from server.route_helpers import AuditOf, documented, reply

router = APIRouter(tags=["audit"])
MOST = 1000


@router.get("/audit", responses=documented(access_responses.Audit), operation_id="readAudit")
def read_audit(
    audit: AuditOf,
    task: Annotated[str, Query(description="only entries of this task", max_length=200)] = "",
    by: Annotated[str, Query(description="only entries of this login, such as ann or token:ci", max_length=200)] = "",
    operation: Annotated[str, Query(description="only entries of this operation", max_length=50)] = "",
    outcome: Annotated[str, Query(description="only entries with this outcome", max_length=20)] = "",
    since_ms: Annotated[int, Query(description="only entries since this time", ge=0, lt=1 << 62)] = 0,
    until_ms: Annotated[int, Query(description="only entries up to this time; 0: all", ge=0, lt=1 << 62)] = 0,
    before: Annotated[int, Query(description="only entries with a smaller number; 0: all", ge=0, lt=1 << 31)] = 0,
    limit: Annotated[int, Query(ge=1, le=MOST, description="number of entries, the newest ones")] = 200,
) -> Response:
    """Returns entries of the audit: requests that changed something, failed or were refused, oldest first. Entries of
    deleted tasks are kept; the number of entries is bounded. Requires the role admin without a selector: the history of
    a task shows its changes to others."""

    def wanted(entry: AuditEntry) -> bool:
        asked = ((task, entry.task), (by, entry.by), (operation, entry.operation), (outcome, entry.outcome))
        in_time = not until_ms or entry.time_ms <= until_ms
        return in_time and all(wanted in ("", found) for wanted, found in asked)

    return reply(access_responses.Audit(items=audit.read(limit, wanted, since_ms, before)))
