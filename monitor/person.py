"""The person behind a browser's session, and the login with which the Server is asked for them.

A session with a token has it. One with a password has none: the person gives the password once more before the first
action, and it counts for UNLOCKED_SECONDS. It is kept encrypted under the key of the cookie, which only the browser
has: between requests, the memory of the Monitor holds nothing that opens the Server.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
from typing import Final

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from starlette.requests import Request

from monitor.access import PRINCIPAL, Access, session_key
from monitor.sessions import Session
from replicator.model.principal import Principal

UNLOCKED_SECONDS: Final = 900.0
_NONCE: Final = 12


class Person(msgspec.Struct, frozen=True):
    """`authorization`: header for the Server; "": the password has to be given first."""

    principal: Principal
    session: Session
    authorization: str


def person_of(request: Request, access: Access | None) -> Person | None:
    """None: nobody is logged in, or a program with a login of its own sends the request, which can ask the Server
    itself."""
    principal: Principal | None = request.scope.get(PRINCIPAL)
    if access is None or principal is None or "authorization" in request.headers:
        return None
    session = access.session(request.scope)
    if session is None:
        return None
    return Person(principal, session, _authorization(session, session_key(request.scope), access.sessions.now()))


def unlock(session: Session, key: str, password: str, now: float) -> None:
    """`password` was verified; `key`: of the cookie; `now`: of the sessions' clock."""
    nonce = secrets.token_bytes(_NONCE)
    session.sealed = nonce + AESGCM(_derived(key)).encrypt(nonce, password.encode(), None)
    session.unlocked_until = now + UNLOCKED_SECONDS


def _authorization(session: Session, key: str, now: float) -> str:
    if session.secret:
        return f"Bearer {session.secret}"
    if not session.sealed or now >= session.unlocked_until:
        session.sealed = b""
        return ""
    try:
        password = AESGCM(_derived(key)).decrypt(session.sealed[:_NONCE], session.sealed[_NONCE:], None)
    except InvalidTag:
        return ""
    return f"Basic {base64.b64encode(session.user.encode() + b':' + password).decode()}"


def _derived(key: str) -> bytes:
    """Another hash than the one that sessions are found by."""
    return hashlib.sha256(b"replicator-monitor-password\0" + key.encode()).digest()
