"""Verifies logins against the records in ZooKeeper.

Records are read again after a second, so that a login that was revoked is refused at once. While ZooKeeper is away
those that were read in the hour before are still accepted: the Monitor shows its last figures during an outage, and
the Server changes nothing without ZooKeeper.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from replicator.coordination.access import passwords, tokens, users
from replicator.coordination.access.tokens import Tokens
from replicator.coordination.access.users import Users
from replicator.coordination.clock import now_ms
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import TokenRecord, UserRecord
from replicator.errors import CoordinationError, NotConnected
from replicator.model.principal import Principal

FRESH_SECONDS: Final = 1.0
OUTAGE_SECONDS: Final = 3600.0
_KEPT: Final = 2000
T = TypeVar("T")


class _Readings(Generic[T]):
    """What was read, for a second; while ZooKeeper is away for an hour. Bounded, the longest unused go first."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[float, T]] = OrderedDict()

    def get(self, key: str, read: Callable[[], T]) -> T:
        """Raises NotConnected where nothing is known of the time before the outage."""
        began = self._clock()
        with self._lock:
            kept = self._kept.get(key)
        if kept is not None and began - kept[0] < FRESH_SECONDS:
            return kept[1]
        try:
            found = read()
        except NotConnected:
            if kept is None or began - kept[0] >= OUTAGE_SECONDS:
                raise
            return kept[1]
        with self._lock:
            self._kept[key] = (began, found)
            self._kept.move_to_end(key)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return found

    def forget(self) -> None:
        with self._lock:
            self._kept.clear()


class Logins:
    """Thread-safe. Both methods of authentication block: they read ZooKeeper, and the hash of a password takes a tenth
    of a second. Both raise NotConnected while ZooKeeper is away and nothing is known of the login."""

    def __init__(self, coordinator: Coordinator, layout: Layout, clock: Callable[[], float] = time.monotonic) -> None:
        self._tokens = Tokens(coordinator, layout)
        self._users = Users(coordinator, layout)
        self._ids: _Readings[frozenset[str]] = _Readings(clock)
        self._token_records: _Readings[TokenRecord | None] = _Readings(clock)
        self._user_records: _Readings[UserRecord | None] = _Readings(clock)
        self._names: _Readings[frozenset[str]] = _Readings(clock)
        self._verified = _Verified()

    def authenticate(self, secret: str) -> Principal | None:
        """Of a token. None: unknown, revoked or expired."""
        id_ = tokens.id_of(secret)
        # the list first: tokens that were made up cost one reading a second, whatever their number
        if id_ is None or id_ not in self._ids.get("", lambda: frozenset(self._tokens.ids())):
            return None
        record = self._token_records.get(id_, lambda: _readable(lambda: self._tokens.read(id_)))
        return tokens.principal(record, secret, now_ms()) if record is not None else None

    def authenticate_user(self, name: str, password: str) -> Principal | None:
        """None: no such user, or another password. It takes as long for both."""
        record = self._user(name)
        if not self._verified.matches(password, record.password if record is not None else passwords.NOBODY):
            return None
        return users.principal(record) if record is not None else None

    def user(self, name: str) -> Principal | None:
        """The user as it is now, for a session that has verified the password earlier. None: there is none."""
        record = self._user(name)
        return users.principal(record) if record is not None else None

    def password_mark(self, name: str) -> str:
        """A text that changes with the password of a user, so that sessions end with it; "" without the user."""
        record = self._user(name)
        return hashlib.sha256(record.password.encode()).hexdigest()[:16] if record is not None else ""

    def _user(self, name: str) -> UserRecord | None:
        if name not in self._names.get("", lambda: frozenset(self._users.names())):
            return None
        return self._user_records.get(name, lambda: _readable(lambda: self._record(name)))

    def _record(self, name: str) -> UserRecord | None:
        node = self._users.read(name)
        return node.record if node is not None else None

    def forget(self) -> None:
        """Reads everything again: this process has changed a login."""
        for readings in (self._ids, self._token_records, self._names, self._user_records):
            readings.forget()


class _Verified:
    """Passwords that were right, as a keyed hash and with the stored hash that they belong to: a client that sends its
    password with each request costs one slow hash."""

    def __init__(self) -> None:
        self._key = os.urandom(32)
        self._lock = threading.Lock()
        self._known: OrderedDict[str, bytes] = OrderedDict()

    def matches(self, password: str, stored: str) -> bool:
        mark = hmac.digest(self._key, password.encode("utf-8", "surrogatepass"), "sha256")
        with self._lock:
            known = self._known.get(stored)
        if known is not None and hmac.compare_digest(known, mark):
            return True
        if not passwords.matches(password, stored):
            return False
        with self._lock:
            self._known[stored] = mark
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return True


def _readable(read: Callable[[], T | None]) -> T | None:
    """None for a record that nobody understands: what can't be read opens nothing."""
    try:
        return read()
    except CoordinationError as error:
        if error.transient:
            raise
        return None
