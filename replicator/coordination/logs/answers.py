"""Answers requests for the last log lines of this process. Has no thread: `replicator.zookeeper.log_service` has it."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Callable
from typing import Final

from replicator.coordination.layout import Layout
from replicator.coordination.logs.nodes import MOST_BYTES, PART, LogPart, LogRequest, make_parents
from replicator.coordination.ports import Coordinator, Watcher
from replicator.coordination.records import dump, load
from replicator.errors import CoordinationError, NodeExists, NodeMissing

_MOST_AT_ONCE: Final = 4
"""Requests whose answers of this process are in the tree; a further one waits."""


class LogAnswers:
    """
    Args:
        process: id of this process in the tree.
        lines: gives them, the newest last.
    """

    def __init__(
        self, coordinator: Coordinator, layout: Layout, process: Callable[[], str], lines: Callable[[], bytes]
    ) -> None:
        self._coordinator = coordinator
        self._layout = layout
        self._process = process
        self._lines = lines
        self._answered: dict[str, list[str]] = {}

    def step(self, watch: Watcher | None = None) -> None:
        """Answers what is new, and removes the answers whose requests have gone. `watch` fires at the next change.

        Raises NotConnected, CoordinationError E4007 where this process may not do it.
        """
        names = self._requests(watch)
        for name in self._answered.keys() - names:
            self._remove(name)
        for name in sorted(names - self._answered.keys()):
            if sum(map(bool, self._answered.values())) >= _MOST_AT_ONCE:
                return
            if not self._wanted(name):
                self._answered[name] = []
                continue
            self._answer(name)

    def _requests(self, watch: Watcher | None) -> set[str]:
        try:
            return set(self._coordinator.children(self._layout.log_requests, watch))
        except NodeMissing:
            make_parents(self._coordinator, self._layout)
            return set(self._coordinator.children(self._layout.log_requests, watch))

    def _wanted(self, name: str) -> bool:
        path = f"{self._layout.log_requests}/{name}"
        try:
            request = load(LogRequest, self._coordinator.get(path).data, path)
        except CoordinationError as error:
            if error.transient:
                raise
            return False
        return self._process() in request.targets

    def _answer(self, name: str) -> None:
        data = zlib.compress(self._lines()[-MOST_BYTES:])
        pieces = [data[at : at + PART] for at in range(0, len(data), PART)]
        paths = self._answered[name] = []
        for index, piece in enumerate(pieces):
            path = self._layout.log_part(name, self._process(), index, len(pieces))
            paths.append(path)
            with contextlib.suppress(NodeExists):  # made before the connection was lost
                self._coordinator.create(path, dump(LogPart(data=piece)), ephemeral=True)

    def _remove(self, name: str) -> None:
        for path in self._answered[name]:
            with contextlib.suppress(NodeMissing):
                self._coordinator.delete(path)
        del self._answered[name]
