"""Fetches the last log lines of processes through the tree, within a time limit."""

from __future__ import annotations

import contextlib
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from replicator.coordination.clock import now_ms
from replicator.coordination.layout import Layout
from replicator.coordination.logs.nodes import MOST_BYTES, MOST_TARGETS, LogPart, LogRequest, make_parents
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import dump, load
from replicator.errors import CoordinationError, NodeMissing

SECONDS: Final = 5.0
"""For the answers of one request."""
_POLL: Final = 0.05


class LogCollector:
    """Thread-safe: it keeps nothing but the coordinator. `wait` takes seconds."""

    def __init__(
        self,
        coordinator: Coordinator,
        layout: Layout,
        wait: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._coordinator = coordinator
        self._layout = layout
        self._wait = wait
        self._clock = clock

    def collect(self, targets: Sequence[str], by: str, seconds: float = SECONDS) -> dict[str, str]:
        """Lines by process; those that have not answered in time, or not readably, are not in it. Nothing stays in the
        tree.

        Raises NotConnected, CoordinationError E4007.
        """
        found: dict[str, str] = {}
        for at in range(0, len(targets), MOST_TARGETS):
            found |= self._request(tuple(targets[at : at + MOST_TARGETS]), by, seconds)
        return found

    def _request(self, targets: tuple[str, ...], by: str, seconds: float) -> dict[str, str]:
        request = dump(LogRequest(targets=targets, by=by, time_ms=now_ms()))
        path = self._create(request)
        try:
            answers = self._answers(path.rpartition("/")[2], targets, seconds)
            return {process: text for process, paths in answers.items() if (text := self._text(paths)) is not None}
        finally:
            with contextlib.suppress(CoordinationError):  # it is gone with the session at the latest
                self._coordinator.delete(path)

    def _create(self, data: bytes) -> str:
        prefix = self._layout.log_request_prefix
        try:
            return self._coordinator.create(prefix, data, ephemeral=True, sequential=True)
        except NodeMissing:
            make_parents(self._coordinator, self._layout)
            return self._coordinator.create(prefix, data, ephemeral=True, sequential=True)

    def _answers(self, request: str, targets: tuple[str, ...], seconds: float) -> dict[str, list[str]]:
        """Paths of all parts, by process, of those that are complete."""
        until = self._clock() + seconds
        while True:
            complete = dict(self._complete(request, targets))
            if len(complete) == len(set(targets)) or self._clock() >= until:
                return complete
            self._wait(_POLL)

    def _complete(self, request: str, targets: tuple[str, ...]) -> Iterator[tuple[str, list[str]]]:
        parent = self._layout.log_parts
        try:
            names = set(self._coordinator.children(parent))
        except NodeMissing:
            return
        for target in targets:
            own = sorted(name for name in names if name.startswith(f"{request}.{target}."))
            count = own[0].rpartition(".")[2] if own else ""
            if count.isdigit() and len(own) == int(count):
                yield target, [f"{parent}/{name}" for name in own]

    def _text(self, paths: list[str]) -> str | None:
        nodes = self._coordinator.get_many(paths)
        try:
            parts = [load(LogPart, node.data, path).data for path, node in zip(paths, nodes, strict=True) if node]
            if len(parts) < len(paths):
                return None
            return zlib.decompressobj().decompress(b"".join(parts), MOST_BYTES).decode(errors="replace")
        except (CoordinationError, zlib.error):
            return None
