"""Routes of the login page: the form, the login, and the logout."""

from __future__ import annotations

from math import ceil
from typing import Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from monitor.access import Access, cookie_name, refusal, session_key
from monitor.forms import fields, is_of
from monitor.render import Renderer
from monitor.sessions import LIFE_SECONDS
from replicator.errors import NotConnected, ProcessError
from replicator.telemetry.hosts import client_address
from replicator.telemetry.login_throttle import LoginThrottle

_NO_STORE: Final = {"cache-control": "no-store"}


class LoginPage:
    """Of the event loop. The cookie: not for scripts, not for requests that another site causes, over TLS only where
    there is TLS."""

    def __init__(self, access: Access, renderer: Renderer, root: str, throttle: LoginThrottle) -> None:
        self._access = access
        self._renderer = renderer
        self._root = root
        self._throttle = throttle

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/login", self.form, methods=["GET"]),
            Route("/login", self.log_in, methods=["POST"]),
            Route("/logout", self.log_out, methods=["POST"]),
        ]

    async def form(self, request: Request) -> Response:
        wanted = self._access.required or self._access.offered
        return self._form() if wanted else RedirectResponse("/", 303, _NO_STORE)

    async def log_in(self, request: Request) -> Response:
        given = await fields(request)
        if given is None:
            return self._form("The form could not be read.", 400)
        address = client_address(request.scope)
        token, user, password = (given.get(name, "") for name in ("token", "user", "password"))
        credentials = f"{user}\0{token or password}".encode()
        wait = self._throttle.wait(address, credentials)
        if wait > 0:
            seconds = ceil(wait)
            text = f"Too many failed logins from this address: try again after {seconds} s. (E5085)"
            return self._form(text, 429, {"retry-after": str(seconds)})
        try:
            key = await self._access.log_in(user.strip(), token.strip() or password)
        except NotConnected:
            return self._form("ZooKeeper does not answer, so the login can't be verified. (E4001)", 503)
        if key is None:
            self._throttle.failed(address, credentials)
            return self._form("The user and password, or the token, are not valid. (E5006)", 401)
        self._throttle.accepted(credentials)
        self._access.sessions.end(session_key(request.scope))
        answer = RedirectResponse("/", 303, _NO_STORE)
        answer.set_cookie(
            cookie_name(request.scope),
            key,
            max_age=int(LIFE_SECONDS),
            path="/",
            secure=request.scope["scheme"] == "https",
            httponly=True,
            samesite="strict",
        )
        return answer

    async def log_out(self, request: Request) -> Response:
        session, given = self._access.session(request.scope), await fields(request)
        if session is None or not is_of(session, given):
            what, fix = "the form of the request is not of this session", "Load the page again."
            return refusal(ProcessError("E5020", what, fix=fix), 403)
        self._access.sessions.end(session_key(request.scope))
        answer = RedirectResponse("/login", 303, _NO_STORE)
        answer.delete_cookie(
            cookie_name(request.scope),
            secure=request.scope["scheme"] == "https",
            httponly=True,
            samesite="strict",
        )
        return answer

    def _form(self, problem: str = "", status: int = 200, headers: dict[str, str] | None = None) -> Response:
        return HTMLResponse(self._renderer.login(self._root, problem), status, _NO_STORE | (headers or {}))
