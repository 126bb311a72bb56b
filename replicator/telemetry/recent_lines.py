"""The last log lines of this process, in memory, without what looks like a secret: for support bundles."""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Callable
from typing import Final

from replicator.telemetry.redaction import redacted_text

MOST_LINES: Final = 2000
MOST_BYTES: Final = 256 << 10
MOST_OF_LINE: Final = 8 << 10
"""Characters."""
_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*m")


class RecentLines:
    """Thread-safe. Bounded in lines and bytes: the oldest are dropped.

    Attributes:
        forward: takes each line instead, in a process that has another one keep its lines.
    """

    def __init__(self, most_lines: int = MOST_LINES, most_bytes: int = MOST_BYTES) -> None:
        self._lines: deque[bytes] = deque()
        self._size = 0
        self._most_lines, self._most_bytes = most_lines, most_bytes
        self._lock = threading.RLock()  # a signal handler may log while a line is kept
        self.forward: Callable[[str], None] | None = None

    def add(self, line: str) -> None:
        """Also a traceback, which has several lines."""
        # before the patterns are applied: a message may be as long as a statement
        kept = redacted_text(_COLOURS.sub("", line[: 2 * MOST_OF_LINE]))
        forward = self.forward
        if forward is not None:
            forward(kept[:MOST_OF_LINE])
            return
        self._keep(kept[:MOST_OF_LINE].encode(errors="replace"))

    def _keep(self, line: bytes) -> None:
        with self._lock:
            self._lines.append(line)
            self._size += len(line) + 1
            while self._lines and (self._size > self._most_bytes or len(self._lines) > self._most_lines):
                self._size -= len(self._lines.popleft()) + 1

    def clear(self) -> None:
        with self._lock:
            self._lines.clear()
            self._size = 0

    def text(self) -> bytes:
        """Oldest first, each ended by a newline."""
        with self._lock:
            lines = list(self._lines)
        return b"".join(line + b"\n" for line in lines)
