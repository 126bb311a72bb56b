"""Route of verifications: keeps what `replicator verify` found."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from replicator.errors import ConfigError
from replicator.model.verification import MOST_TABLES, VerificationReport
from server import responses
from server.request_bodies import decoded
from server.route_helpers import By, Name, OperationsOf, body_of, documented, reply

router = APIRouter(tags=["verification"])

_BODY = body_of({"$ref": "#/components/schemas/VerificationReport"}, required=True)


async def _report(request: Request) -> VerificationReport:
    report = decoded(await request.body(), VerificationReport, "a report of `replicator verify`")
    if len(report.tables) > MOST_TABLES:
        raise ConfigError("E1003", "the report has too many tables", wanted=f"at most {MOST_TABLES}")
    return report


Report = Annotated[VerificationReport, Depends(_report)]


@router.put(
    "/tasks/{name}/verification",
    responses=documented(responses.Task),
    openapi_extra=_BODY,
    operation_id="reportVerification",
)
def report_verification(operations: OperationsOf, name: Name, by: By, report: Report) -> Response:
    """Keeps the result of a verification as the last one of the task: `replicator verify NAME` calls this at its end.
    A report of some tables (`whole` false) leaves the results of others as they are. 409 E5040 if `uid` and `version`
    are not of the present task."""
    operations.verified(name, report, by)
    return reply(responses.task(operations.task(name)))
