"""Sessions of browsers that have logged in: in memory, bounded, and lost when the Monitor is restarted. Pure."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

import msgspec

LIFE_SECONDS: Final = 12 * 3600.0
IDLE_SECONDS: Final = 3600.0
"""An open page counts as use: it asks for its events again every 15 minutes."""
_MOST: Final = 1000


class Session(msgspec.Struct, kw_only=True):
    """
    Attributes:
        user: a name, for a login with a password; "": with a token.
        secret: the token, which is verified again with each request.
        mark: of the password at the login: a changed password ends the session.
        sealed: the password of a user who acts, encrypted under the key of the cookie (`person`), until
            `unlocked_until`, of the clock of the sessions.
        csrf: what a form has to carry to change something.
    """

    user: str = ""
    secret: str = ""
    mark: str = ""
    sealed: bytes = b""
    unlocked_until: float = 0.0
    csrf: str = msgspec.field(default_factory=lambda: secrets.token_urlsafe(24))
    began: float = 0.0
    used: float = 0.0


class Sessions:
    """Not thread-safe: of the event loop. Keys are hashed, so that none can be found by the time that a comparison
    takes. When there are too many the one that was unused longest ends."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: OrderedDict[bytes, Session] = OrderedDict()

    def now(self) -> float:
        """Seconds, of the clock that `Session.unlocked_until` is of."""
        return self._clock()

    def begin(self, session: Session) -> str:
        """The key for the cookie; a new one for each login."""
        key = secrets.token_urlsafe(32)
        session.began = session.used = self._clock()
        self._kept[_hash(key)] = session
        while len(self._kept) > _MOST:
            self._kept.popitem(last=False)
        return key

    def find(self, key: str) -> Session | None:
        hashed = _hash(key)
        session, now = self._kept.get(hashed), self._clock()
        if session is None:
            return None
        if now - session.began >= LIFE_SECONDS or now - session.used >= IDLE_SECONDS:
            del self._kept[hashed]
            return None
        session.used = now
        self._kept.move_to_end(hashed)
        return session

    def end(self, key: str) -> None:
        self._kept.pop(_hash(key), None)


def _hash(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()
