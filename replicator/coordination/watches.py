"""One-time watches, one per path at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal, TypeAlias

from replicator.coordination.ports import Change, Watcher
from replicator.errors import NodeMissing, NotConnected

Kind: TypeAlias = Literal["data", "children"]


class Watches:
    """Without this, every periodic reading would leave one more watch on a node that never changes.

    Args:
        wake: called from any thread when one fires; must not block.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._lock = threading.Lock()
        self._armed: set[tuple[Kind, str]] = set()

    @contextmanager
    def on(self, kind: Kind, path: str) -> Iterator[Watcher | None]:
        """A watcher for the reading within, or None where one waits already. A reading that fails leaves no watch at
        the servers, so the next one must bring another."""
        with self._lock:
            watcher = None if (kind, path) in self._armed else self._watcher(kind, path)
            self._armed.add((kind, path))
        try:
            yield watcher
        except (NodeMissing, NotConnected):
            if watcher is not None:
                self._disarm(kind, path)
            raise

    def _watcher(self, kind: Kind, path: str) -> Watcher:
        def fired(change: Change, _: str) -> None:
            self._disarm(kind, path)
            self._wake()

        return fired

    def _disarm(self, kind: Kind, path: str) -> None:
        with self._lock:
            self._armed.discard((kind, path))

    def clear(self) -> None:
        """The session is gone, and all watches with it."""
        with self._lock:
            self._armed.clear()
