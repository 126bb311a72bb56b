"""Errors as HTTP responses: problem documents with `{"error": {code, what, found, wanted, fix, position}, "errors":
[...]}` and a status."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from replicator.coordination.ports import Connection
from replicator.errors import ConfigError, CoordinationError, NotConnected, ProcessError, ReplicatorError
from replicator.telemetry.hosts import problem
from replicator.telemetry.log import get_logger
from server.request_facts import facts_of

_STATUS = {
    "E1001": 400,
    "E1008": 413,
    "E1009": 409,
    "E2205": 422,
    "E2209": 422,
    "E4004": 404,
    "E4005": 409,
    "E4006": 409,
    "E4011": 413,
    "E4012": 409,
    "E4077": 409,
    "E4078": 409,
    "E4101": 404,
    "E4103": 409,
    "E5003": 404,
    "E5004": 409,
    "E5006": 401,
    "E5007": 409,
    "E5009": 504,
    "E5013": 404,
    "E5014": 422,
    "E5016": 409,
    "E5120": 404,
    "E5121": 409,
    "E5122": 409,
    "E5123": 404,
    "E5124": 409,
    "E5150": 409,
    "E5153": 404,
    "E5154": 409,
    "E5161": 409,
    "E5162": 404,
    "E5163": 404,
    "E5020": 421,
    "E5040": 409,
    "E5070": 409,
    "E5071": 404,
    "E5072": 403,
    "E5074": 422,
    "E5075": 409,
    "E5076": 429,
    "E5077": 503,
    "E5090": 404,
    "E5105": 409,
    "E5110": 404,
    "E5111": 504,
    "E5184": 404,
    "E5185": 422,
}
PRECONDITION: Final = "E4006"
"""What was read has changed: 412 where the request says what by If-Match, else 409."""
_log = get_logger("server")


def status_of(error: ReplicatorError) -> int:
    if isinstance(error, CoordinationError) and error.transient:
        return 503
    fallback = 422 if isinstance(error, ConfigError) else 500
    return _STATUS.get(error.code, fallback)


def status_of_code(code: str) -> int | None:
    """The usual status of a code, for the documentation; None for codes of which the API has none of its own."""
    if code == "E4001":
        return 503
    return _STATUS.get(code, 422 if code.startswith("E1") else None)


class ErrorResponse(JSONResponse):
    """A problem document (RFC 9457) with the members `error` and `errors`. Notes its code for the audit."""

    media_type = "application/problem+json"

    def __init__(self, error: ReplicatorError, status: int, headers: dict[str, str]) -> None:
        self._code = error.code
        super().__init__(problem(error, status), status, headers)
        if status == 401:
            for scheme in ("Bearer", "Basic"):  # a header each: browsers look at the first challenge of a header only
                self.headers.append("www-authenticate", f'{scheme} realm="mysql-replicator"')

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        facts_of(scope).code = self._code
        await super().__call__(scope, receive, send)


def answer(
    error: ReplicatorError, *, status: int = 0, close: bool = False, allowed: Sequence[str] = ()
) -> ErrorResponse:
    """The answer for `error`; `close`: the rest of the request is not read, so the connection must end; `allowed`: the
    methods of the path, for 405."""
    status = status or status_of(error)
    headers = {"connection": "close"} if close else {}
    headers["cache-control"] = "no-store"
    if allowed:
        headers["allow"] = ", ".join(allowed)
    if status == 503:
        headers["retry-after"] = "1"
    return ErrorResponse(error, status, headers)


def require_connection(request: Request) -> None:
    """A dependency of routes: without ZooKeeper a command is refused before it has done anything. Raises NotConnected
    E4001."""
    state: Connection = request.app.state.coordinator.connection
    if request.method != "GET" and state is not Connection.CONNECTED:
        raise NotConnected(
            "E4001",
            "the Server has no connection to ZooKeeper: the command was not carried out, and nothing was changed",
            found=state.value,
            wanted="connected",
            fix="Check that ZooKeeper runs, and --zookeeper of the Server; then repeat the command.",
        )


def _for_people(error: ReplicatorError, method: str) -> ReplicatorError:
    """What a lost connection means for the author of a request: a question has changed nothing, a command may have."""
    if not isinstance(error, NotConnected) or error.code == "E4001":
        return error
    if method != "GET":
        fix = (
            "It is not known whether the command was carried out: `replicator task describe NAME` shows it. Repeat the "
            "command if it was not."
        )
        return NotConnected(error.code, error.what, found=error.found, wanted=error.wanted, fix=fix)
    fix = "Check that ZooKeeper runs, and --zookeeper of the Server. The Server reconnects automatically."
    return NotConnected("E4001", "the Server has no connection to ZooKeeper", found=error.found, fix=fix)


def install(app: FastAPI) -> None:
    """Makes every error of the application such an answer; a traceback goes to the log, never to the client."""

    @app.exception_handler(ReplicatorError)
    async def known(request: Request, error: ReplicatorError) -> Response:
        stale = error.code == PRECONDITION and "if-match" in request.headers
        return answer(_for_people(error, request.method), status=412 if stale else 0)

    @app.exception_handler(RequestValidationError)
    async def wrong_request(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        return answer(ConfigError("E1003", f"{where} of the request has an invalid value", wanted=str(first["msg"])))

    @app.exception_handler(HTTPException)
    async def no_route(request: Request, error: HTTPException) -> Response:
        found = f"{request.method} {request.url.path}"[:200]
        return answer(ProcessError("E5013", str(error.detail), found=found), status=error.status_code)

    @app.exception_handler(Exception)
    async def unforeseen(request: Request, error: Exception) -> Response:
        _log.error("request failed", path=request.url.path, error=repr(error), exc_info=error)
        return answer(ProcessError("E5011", "internal error in the Server", found=type(error).__name__))
