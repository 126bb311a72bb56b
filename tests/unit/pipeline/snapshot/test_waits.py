"""Waits before a chunk is begun, with a clock of the test."""

from __future__ import annotations

import threading
import time

import pytest

from replicator.model.pause_windows import PauseWindows
from replicator.model.position import Position
from replicator.model.snapshot import OpenTable, SnapshotProgress
from replicator.pipeline.snapshot import waits
from replicator.pipeline.snapshot.handoff import Closed, Handoff, Piece
from replicator.pipeline.snapshot.waits import Waits
from replicator.source.memory_snapshot import MemorySnapshotSource, MemoryTables

MONDAY = 4 * 86_400.0
NINE, SIX = 9 * 3600, 18 * 3600


class Pause:
    """A reader of chunks at a time of a Monday, with a window from 08:00 to 18:00."""

    def __init__(self, now: float, table: OpenTable, load: int = 1) -> None:
        self.handoff = Handoff(SnapshotProgress("initial", 1))
        self.now, self.error = MONDAY + now, ""
        self.server = MemoryTables(lambda: Position("b.1", 4))
        self.server.load = load
        self._waits = Waits(self.handoff, 10, PauseWindows(["08:00-18:00"]), lambda: self.now)
        self._piece = Piece(table=table)
        self._reader = MemorySnapshotSource(self.server).open("")
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        try:
            self._waits.wait(self._reader, self._piece)
        except Closed:
            self.error = "closed"

    def over(self) -> bool:
        self.thread.join(0.2)
        return not self.thread.is_alive()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waits, "_WINDOW_SECONDS", 0.01)
    monkeypatch.setattr(waits, "_LOAD_SECONDS", 0.01)


def test_it_waits_for_the_end_of_the_window() -> None:
    pause = Pause(NINE, OpenTable("s.t", ("id",), chunks=3))
    assert not pause.over() and pause.handoff.waits == "paused until 18:00 UTC"
    pause.now = MONDAY + SIX
    pause.thread.join(20)
    assert pause.over() and pause.handoff.waits == ""


@pytest.mark.parametrize(("now", "table"), [(SIX, OpenTable("s.t", ("id",))), (NINE, OpenTable("s.t", chunks=1))])
def test_it_does_not_wait_outside_nor_in_the_middle_of_a_pass(now: float, table: OpenTable) -> None:
    pause = Pause(now, table)
    pause.thread.join(20)
    assert pause.over()


def test_a_session_that_ends_does_not_wait_for_it() -> None:
    pause = Pause(NINE, OpenTable("s.t"))
    time.sleep(0.05)
    pause.handoff.close()
    pause.thread.join(20)
    assert pause.error == "closed" and pause.handoff.waits == ""


def test_a_window_that_begins_while_the_source_is_busy_counts() -> None:
    pause = Pause(NINE - 7200, OpenTable("s.t", ("id",)), load=11)
    assert not pause.over() and pause.handoff.waits.startswith("waits: the source")
    pause.now = MONDAY + NINE
    pause.server.load = 1
    assert not pause.over() and pause.handoff.waits == "paused until 18:00 UTC"
    pause.now = MONDAY + SIX
    pause.thread.join(20)
    assert pause.over()
