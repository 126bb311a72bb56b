"""Admits a session only after it has read the identities at /security.

ZooKeeper accepts every digest login, also one with a wrong password: it then has no rights. And kazoo tells of a
connection before it logs in. So the record is asked for first; its answer comes after the login, and only to those who
are in it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from kazoo.exceptions import KazooException, NoAuthError, NoNodeError
from kazoo.handlers.utils import AsyncResult
from kazoo.protocol.states import EventType, WatchedEvent, ZnodeStat

from replicator.coordination.rights import ROLES, Guard
from replicator.errors import ConfigError, CoordinationError
from replicator.zookeeper.access import Access
from replicator.zookeeper.connection import Client

_AGAIN: Final = 2.0
"""Seconds until a refused session is asked for again: with a new connection, and files that are read anew."""


class Admission:
    """
    Args:
        admitted: called in kazoo's thread when the session may be used.
    """

    def __init__(self, client: Client, access: Access, guard: Guard, admitted: Callable[[], None]) -> None:
        self._client = client
        self._access = access
        self._guard = guard
        self._admitted = admitted
        self._lock = threading.Lock()
        self._attempt = 0

    def begin(self) -> None:
        """There is a connection. Does not block."""
        self._read(self._next(), first=True)

    def cancel(self) -> None:
        """The connection is gone."""
        self._next()

    def _next(self) -> int:
        with self._lock:
            self._attempt += 1
            return self._attempt

    def _read(self, attempt: int, *, first: bool) -> None:
        def changed(event: WatchedEvent) -> None:
            if event.type != EventType.NONE and attempt == self._attempt:
                self._read(attempt, first=False)

        path = self._guard.layout.security
        self._client.exists_async(path, changed)  # also waits for a node that is not there
        self._client.get_async(path).rawlink(lambda answer: self._answered(attempt, answer, first))

    def _answered(self, attempt: int, answer: AsyncResult[tuple[bytes | None, ZnodeStat]], first: bool) -> None:
        if attempt != self._attempt:
            return
        try:
            data: bytes | None = answer.get(block=False)[0] or b""
        except NoNodeError:
            data = None
        except NoAuthError:
            who = "this process has no login" if not self._access.has_identity else "its login is not at /security"
            self._refuse(attempt, f"ZooKeeper refuses access to {self._guard.layout.security}: {who}", "E4030")
            return
        except KazooException:
            return  # the connection is gone: kazoo connects again
        try:
            self._guard.learn(data)
            refused = self._objection()
        except (CoordinationError, ConfigError) as error:
            refused = (f"{error.what} {error.found}".strip(), error.code)
        if refused is not None:
            self._refuse(attempt, *refused)
        elif first:
            self._admitted()

    def _objection(self) -> tuple[str, str] | None:
        guard, record = self._guard, self._guard.record
        if record is None:
            missing = f"there is no record of identities at {guard.layout.security}"
            return (missing, "E4035") if guard.required else None
        own = set(self._access.fresh().identities())
        roles = [role for role in ROLES if own.intersection(record.of(role))]
        if roles and guard.role and guard.role not in roles and "admin" not in roles:
            return f"the login of this process is that of {' and '.join(roles)}, not of {guard.role}", "E4037"
        return None

    def _refuse(self, attempt: int, reason: str, code: str) -> None:
        self._client.attempts.refused(reason, code)

        def again() -> None:
            if attempt == self._attempt:
                self._client.drop_connection()

        timer = threading.Timer(_AGAIN, again)
        timer.daemon = True
        timer.start()
