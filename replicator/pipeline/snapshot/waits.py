"""Waits before a chunk is begun: for the end of a pause window, and for a source that has less to do."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from replicator.model.pause_windows import PauseWindows, shown
from replicator.pipeline.ports import SnapshotReader
from replicator.pipeline.snapshot.handoff import Handoff, Piece

_LOAD_SECONDS: Final = 0.5
"""Between two questions for the load of the source."""
_WINDOW_SECONDS: Final = 10.0
"""Between two looks at the clock, which may be set."""


class Waits:
    """
    Args:
        most_load: no chunk is begun while the source has more to do (`SnapshotReader.load`); 0: no limit.
        windows: in which none is begun, but for the rest of a table without a key: its view stays open.
        clock: s since the epoch.
    """

    def __init__(
        self, handoff: Handoff, most_load: int, windows: PauseWindows, clock: Callable[[], float] = time.time
    ) -> None:
        self._handoff, self._most_load, self._windows, self._clock = handoff, most_load, windows, clock

    def wait(self, reader: SnapshotReader, piece: Piece) -> None:
        """What is waited for is told meanwhile (`Handoff.waits`). Raises Restart, Closed, TableChanged, and what
        readers raise."""
        in_pass = piece.table is not None and not piece.table.key and piece.table.chunks > 0
        try:
            while True:
                if not in_pass and (end := self._windows.end(now := self._clock())) is not None:
                    self._handoff.waits = f"paused until {shown(end, now)}"
                    self._handoff.sleep(min(end - now, _WINDOW_SECONDS))
                elif self._most_load and reader.load(self._most_load) > self._most_load:
                    self._handoff.waits = f"waits: the source runs more than {self._most_load} statements"
                    self._handoff.sleep(_LOAD_SECONDS)  # a pause window may begin meanwhile
                else:
                    return
        finally:
            self._handoff.waits = ""
