"""What one thread has read is of no use any more: the other one must not continue from a progress of before."""

from __future__ import annotations

import threading
import time

import msgspec
import pytest

from replicator.model.position import Position
from replicator.model.snapshot import SnapshotProgress
from replicator.pipeline.snapshot.handoff import Handoff, Restart


def restarted(handoff: Handoff, step: int) -> None:
    """By the stream: a table was renamed, say, which changes the progress."""
    with handoff.changed:
        handoff.progress = msgspec.structs.replace(handoff.progress, step=step)
        handoff.restart()


def test_who_waits_for_the_delivery_learns_that_it_was_called_off() -> None:
    """Nothing is left to be delivered then, too: the progress that counts is the one behind the restart."""
    handoff = Handoff(SnapshotProgress("initial", 1))
    handoff.put(SnapshotProgress("initial", 1, step=1))
    found: list[object] = []

    def wait() -> None:
        try:
            found.append(handoff.settled())
        except Restart:
            found.append(handoff.begin_again())

    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(0.05)
    restarted(handoff, 7)
    thread.join(10)
    assert found == [SnapshotProgress("initial", 1, step=7)]


def test_progress_of_before_is_not_taken() -> None:
    handoff = Handoff(SnapshotProgress("initial", 1))
    old = msgspec.structs.replace(handoff.progress, step=1)
    restarted(handoff, 7)
    with pytest.raises(Restart):
        handoff.put(old)
    with pytest.raises(Restart):
        handoff.settled()
    assert handoff.begin_again().step == 7 and not handoff.pieces
    handoff.put(old)
    assert len(handoff.pieces) == 1


def test_who_waits_for_the_stream_does_not_wait_any_longer() -> None:
    """For a table that is gone and may have another name: the stream has told that name."""
    handoff = Handoff(SnapshotProgress("initial", 1))
    found: list[str] = []

    def wait() -> None:
        try:
            handoff.await_stream(Position("log.000001", 100))
        except Restart:
            found.append("restart")

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    time.sleep(0.05)
    restarted(handoff, 7)
    thread.join(10)
    assert found == ["restart"]
