"""The lock that `replicator task edit` holds while its editor is open."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import Final

import click

from replicator.cli.task.client import Client
from replicator.cli.terminal import clean
from replicator.errors import ReplicatorError

_POLL: Final = 1.0
_REPEATS: Final = 3
"""Requests within the time for which the Server keeps the lock."""


class EditLock:
    """Between `__enter__` and `__exit__`; a separate thread repeats the request to the Server.

    Args:
        wait: seconds to wait for another process that edits the task; None for ever, 0 asks once.
        force: take the lock from that process.
    """

    def __init__(
        self,
        client: Client,
        name: str,
        *,
        wait: float | None,
        force: bool,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._client, self._name, self._force = client, name, force
        self._wait, self._clock, self._pause = wait, clock, pause
        self._token = 0
        self._interval = _POLL
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="edit_lock", daemon=True)

    def __enter__(self) -> EditLock:
        """Raises CoordinationError E4077 and what the Server says."""
        until = None if self._wait is None else self._clock() + self._wait
        shown = False
        while True:
            try:
                self._begin(force=self._force)
                break
            except ReplicatorError as error:
                if error.code != "E4077" or (until is not None and self._clock() >= until):
                    raise
                if not shown:
                    click.echo(f"Waiting: {clean(error.what)} ({clean(error.found)})", err=True)
                shown = True
            self._pause(_POLL)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(timeout=5)
        with contextlib.suppress(ReplicatorError):  # it ends by itself
            self._client.end_edit(self._name)

    def token(self) -> int:
        """For the write. Where the lock was lost it is taken again: the version of the configuration shows what
        happened in between. Raises CoordinationError E4077."""
        self._begin()
        return self._token

    def _begin(self, *, force: bool = False) -> None:
        found = self._client.begin_edit(self._name, force=force)
        self._token, self._interval = int(found["token"]), float(found["lease_s"]) / _REPEATS

    def _run(self) -> None:
        while not self._stop.wait(self._interval):
            with contextlib.suppress(ReplicatorError):  # the write says what is wrong
                self._begin()
