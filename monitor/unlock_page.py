"""Takes the password of a person once more, before they act: /unlock, for sessions that began with a password."""

from __future__ import annotations

from math import ceil
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from monitor.access import Access, session_key
from monitor.documents import NO_STORE, Documents
from monitor.forms import fields, is_of
from monitor.navigation import is_form
from monitor.person import UNLOCKED_SECONDS, person_of, unlock
from replicator.errors import NotConnected, ProcessError, ReplicatorError
from replicator.telemetry.hosts import client_address
from replicator.telemetry.login_throttle import LoginThrottle


class UnlockPage:
    """The password is verified here, so that the Server never gets a wrong one from the Monitor: it would slow down
    the logins of all that come by it.

    Args:
        throttle: of wrong passwords, the same as that of the login page.
    """

    def __init__(self, access: Access, documents: Documents, throttle: LoginThrottle) -> None:
        self._access = access
        self._documents = documents
        self._throttle = throttle

    def routes(self) -> list[BaseRoute]:
        return [Route("/unlock", self.unlock, methods=["POST"])]

    async def unlock(self, request: Request) -> Response:
        person, given = person_of(request, self._access), await fields(request)
        if person is None or given is None or not is_of(person.session, given):
            error = ProcessError("E5020", "the form of the request is not of this session", fix="Load the page again.")
            return self._locked(request, "/", error, 403)
        after, password = own_page(given.get("next", "")), given.get("password", "")
        address = client_address(request.scope)
        credentials = f"{person.session.user}\0{password}".encode(errors="replace")
        wait = self._throttle.wait(address, credentials)
        if wait > 0:
            text = f"too many failed logins from this address: try again after {ceil(wait)} s"
            return self._locked(request, after, ProcessError("E5085", text), 429)
        try:
            right = await self._access.password_of(person.session, password)
        except NotConnected as error:
            return self._locked(request, after, error, 503)
        if not right:
            self._throttle.failed(address, credentials)
            return self._locked(request, after, ProcessError("E5006", "the password is not valid"), 401)
        self._throttle.accepted(credentials)
        unlock(person.session, session_key(request.scope), password, self._access.sessions.now())
        return RedirectResponse(after, 303, NO_STORE)

    def _locked(self, request: Request, after: str, error: ReplicatorError, status: int) -> Response:
        minutes = round(UNLOCKED_SECONDS / 60)
        return self._documents.answer(
            request, "unlock", status=status, after=after, error=error.to_dict(), minutes=minutes
        )


def own_page(path: str) -> str:
    """Where to go after the password: a page of actions or the audit, never elsewhere."""
    parts = urlsplit(path)
    own = not parts.scheme and not parts.netloc and path.startswith("/") and not path.startswith(("//", "/\\"))
    return path if own and (is_form(parts.path) or parts.path == "/audit") and parts.path != "/unlock" else "/"
