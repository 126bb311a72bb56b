"""Slows down failed logins by client address: after some failures each further attempt has to wait, longer each time.

Credentials that were accepted a moment ago are not delayed, so that an attacker behind the same proxy or gateway does
not lock out others. Memory is bounded: the addresses that were silent longest are forgotten first. Pure but for the
ASGI layer at the end.
"""

from __future__ import annotations

import hmac
import os
import time
from collections import OrderedDict
from collections.abc import Callable
from math import ceil
from typing import Final

from replicator.errors import ProcessError
from replicator.telemetry.connection_limits import network
from replicator.telemetry.hosts import App, Message, Receive, Scope, Send, client_address, refuse
from replicator.telemetry.refusals import Note, nowhere

FREE: Final = 5
"""Failures without a wait: people mistype passwords."""
LONGEST: Final = 60.0
FORGOTTEN: Final = 900.0
"""Seconds without a failure after which an address begins again."""
_KEPT: Final = 4096


class LoginThrottle:
    """Not thread-safe: of the event loop. `clock`: monotonic seconds; `free`: failures without a wait."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, free: int = FREE) -> None:
        self._clock, self._free = clock, free
        self._key = os.urandom(32)
        self._failures: OrderedDict[str, tuple[int, float]] = OrderedDict()
        self._accepted: OrderedDict[bytes, None] = OrderedDict()

    def wait(self, address: str, credentials: bytes = b"") -> float:
        """Seconds until the next attempt from there with credentials that are not known to be right."""
        count, since = self._failures.get(network(address), (0, 0.0))
        if count < self._free or self._mark(credentials) in self._accepted:
            return 0.0
        silent = self._clock() - since
        return 0.0 if silent >= FORGOTTEN else max(0.0, min(2.0 ** (count - self._free), LONGEST) - silent)

    def failed(self, address: str, credentials: bytes = b"") -> None:
        key, now = network(address), self._clock()
        count, since = self._failures.pop(key, (0, now))
        self._failures[key] = (1 if now - since >= FORGOTTEN else count + 1, now)
        self._accepted.pop(self._mark(credentials), None)
        while len(self._failures) > _KEPT:
            self._failures.popitem(last=False)

    def accepted(self, credentials: bytes) -> None:
        """The failures of the address are kept: one valid login must not make guesses at others free."""
        mark = self._mark(credentials)
        self._accepted[mark] = None
        self._accepted.move_to_end(mark)
        while len(self._accepted) > _KEPT:
            self._accepted.popitem(last=False)

    def _mark(self, credentials: bytes) -> bytes:
        """A keyed hash, so that no secret is kept and none is compared byte by byte."""
        return hmac.digest(self._key, credentials, "sha256")


def throttled(app: App, throttle: LoginThrottle, noted: Note = nowhere) -> App:
    """Refuses requests with credentials with 429 and E5085 while their address has to wait, and calls `noted` for each.
    A 401 is a failed login."""

    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        given = [bytes(value) for name, value in scope.get("headers", ()) if name == b"authorization"]
        if scope["type"] != "http" or not given:
            await app(scope, receive, send)
            return
        address, credentials = client_address(scope), b"\n".join(given)
        wait = throttle.wait(address, credentials)
        if wait > 0:
            noted(address, 429, "E5085")
            await refuse(send, 429, too_many(wait), retry_after=ceil(wait))
            return
        judged = False

        async def watched(message: Message) -> None:
            nonlocal judged
            if message["type"] == "http.response.start" and not judged:
                judged = True
                if message["status"] == 401:
                    throttle.failed(address, credentials)
                elif message["status"] < 400:
                    throttle.accepted(credentials)
            await send(message)

        await app(scope, receive, watched)

    return wrapped


def too_many(wait: float) -> ProcessError:
    return ProcessError(
        "E5085",
        "too many failed logins from this address",
        wanted=f"a wait of {ceil(wait)} s",
        fix=f"Check the token, or user and password, and try again after {ceil(wait)} s.",
    )
