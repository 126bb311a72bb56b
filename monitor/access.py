"""Who may read the Monitor: sessions of browsers, tokens and users of programs, as an ASGI layer around all routes.

Every path requires a login but health checks, the login page and the files of its style. Logins are those of the
Server, read from ZooKeeper, and are verified again with each request: one that is revoked ends at once.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

import msgspec
from starlette.responses import RedirectResponse, Response

from monitor.navigation import is_form, is_page
from monitor.sessions import Session, Sessions
from replicator.coordination.access.logins import Logins
from replicator.coordination.access.users import TOKEN_USER
from replicator.errors import NotConnected, ProcessError, ReplicatorError
from replicator.model.principal import Principal
from replicator.telemetry.hosts import App, Receive, Scope, Send

T = TypeVar("T")
PRINCIPAL: Final = "replicator.principal"
OPEN_PATHS: Final = frozenset({"/healthz", "/healthz/live", "/healthz/ready", "/login"})
OPEN_FOLDER: Final = "/static/"
_MOST: Final = 16_384
"""Bytes of a header with a login."""


class Access:
    """`required`: without it everybody may read everything; `offered`: then people may log in, to act. Of the event
    loop; verifying happens in threads, passwords in threads of their own, as their hash is slow."""

    def __init__(
        self, logins: Logins, *, required: bool, offered: bool = False, sessions: Sessions | None = None
    ) -> None:
        self.required = required
        self.offered = offered
        self.sessions = sessions or Sessions()
        self._logins = logins
        self._lookups = ThreadPoolExecutor(4, "logins")
        self._hashing = ThreadPoolExecutor(2, "passwords")

    def close(self) -> None:
        for threads in (self._lookups, self._hashing):
            threads.shutdown(wait=False, cancel_futures=True)

    async def principal(self, scope: Scope) -> Principal | None:
        """None: no valid login. Raises NotConnected where ZooKeeper is needed and away."""
        given = [bytes(value) for name, value in scope["headers"] if name == b"authorization"]
        if given:
            return await self._header(given[0]) if len(given) == 1 and len(given[0]) <= _MOST else None
        session = self.session(scope)
        return await self._in_session(session) if session is not None else None

    def session(self, scope: Scope) -> Session | None:
        key = session_key(scope)
        return self.sessions.find(key) if key else None

    async def log_in(self, user: str, password: str) -> str | None:
        """The key of a new session; None: wrong. Raises NotConnected."""
        if user == TOKEN_USER or not user:
            found = await _in(self._lookups, lambda: self._logins.authenticate(password))
            return self.sessions.begin(Session(secret=password)) if found is not None else None
        mark = await _in(self._lookups, lambda: self._logins.password_mark(user))
        found = await _in(self._hashing, lambda: self._logins.authenticate_user(user, password))
        return self.sessions.begin(Session(user=user, mark=mark)) if found is not None else None

    async def password_of(self, session: Session, password: str) -> bool:
        """Whether it is that of the user of the session. Raises NotConnected."""
        found = await _in(self._hashing, lambda: self._logins.authenticate_user(session.user, password))
        return found is not None

    async def volunteer(self, scope: Scope) -> Principal | None:
        """Who has logged in where nobody has to."""
        session = self.session(scope) if self.offered else None
        try:
            return await self._in_session(session) if session is not None else None
        except NotConnected:
            return None

    async def _in_session(self, session: Session) -> Principal | None:
        if session.secret:
            return await _in(self._lookups, lambda: self._logins.authenticate(session.secret))

        def same() -> Principal | None:
            mark = self._logins.password_mark(session.user)
            return self._logins.user(session.user) if hmac.compare_digest(mark, session.mark) else None

        return await _in(self._lookups, same)

    async def _header(self, header: bytes) -> Principal | None:
        scheme, _, rest = header.partition(b" ")
        try:
            if scheme.lower() == b"bearer":
                token = rest.strip().decode("ascii")
                return await _in(self._lookups, lambda: self._logins.authenticate(token))
            if scheme.lower() != b"basic":
                return None
            name, colon, password = base64.b64decode(rest.strip(), validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return None
        if not colon:
            return None
        if name == TOKEN_USER:
            return await _in(self._lookups, lambda: self._logins.authenticate(password))
        return await _in(self._hashing, lambda: self._logins.authenticate_user(name, password))


class Guard:
    """The layer. Routes find the login in `scope[PRINCIPAL]`; None: none is required."""

    def __init__(self, app: App, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or _is_open(scope["path"]):
            await self._app(scope, receive, send)
            return
        if not self._access.required:
            volunteer = await self._access.volunteer(scope)
            if volunteer is not None:
                scope[PRINCIPAL] = volunteer
            await self._app(scope, receive, send)
            return
        try:
            principal = await self._access.principal(scope)
        except NotConnected as error:
            await refusal(error, 503)(scope, receive, send)
            return
        if principal is None:
            answer = RedirectResponse("/login", 303) if _is_page(scope) else refusal(_without(), 401)
            answer.headers["cache-control"] = "no-store"
            await answer(scope, receive, send)
            return
        scope[PRINCIPAL] = principal
        await self._app(scope, receive, send)


def _is_open(path: str) -> bool:
    return path in OPEN_PATHS or (path.startswith(OPEN_FOLDER) and ".." not in path)


def _is_page(scope: Scope) -> bool:
    """A person with a browser, whom a login page helps."""
    if any(name == b"authorization" for name, _ in scope["headers"]):
        return False
    if scope["method"] in ("GET", "HEAD"):
        return is_page(scope["path"])
    return scope["method"] == "POST" and (scope["path"] == "/logout" or is_form(scope["path"]))


def _without() -> ProcessError:
    return ProcessError(
        "E5006",
        "the Monitor requires a login",
        wanted="Authorization: Bearer TOKEN, or Basic with user and password",
        fix="`replicator token create NAME --role viewer` makes a token, for instance for Prometheus.",
    )


def refusal(error: ReplicatorError, status: int, headers: dict[str, str] | None = None) -> Response:
    body = msgspec.json.encode({"error": error.to_dict(), "errors": [error.to_dict()]})
    answer = Response(body, status, headers, "application/json")
    if status == 401:
        answer.headers["www-authenticate"] = 'Bearer realm="mysql-replicator"'
    if status == 503:
        answer.headers["retry-after"] = "1"
    return answer


def cookie_name(scope: Scope) -> str:
    """With the prefix browsers accept it over TLS alone, for this host alone."""
    return "__Host-replicator" if scope.get("scheme") == "https" else "replicator"


def session_key(scope: Scope) -> str:
    """ "" without one, or with two: another site of the same host may have set one of them."""
    found = list(_cookies(scope["headers"], cookie_name(scope)))
    return found[0] if len(found) == 1 else ""


def _cookies(headers: Iterable[tuple[bytes, bytes]], name: str) -> Iterable[str]:
    for key, value in headers:
        if key != b"cookie":
            continue
        for part in value.decode("latin-1").split(";"):
            given, _, text = part.strip().partition("=")
            if given == name:
                yield text


async def _in(threads: ThreadPoolExecutor, call: Callable[[], T]) -> T:
    return await asyncio.get_running_loop().run_in_executor(threads, call)
