"""The pipe between agent and worker: no worker holds up the agent, or another worker."""

from __future__ import annotations

import queue
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from core.channel import AgentEnd, WorkerEnd, pair
from core.pipe_reader import PipeReader
from core.protocol import Saved, SchemaHistoryAnswer, Streaming
from replicator.errors import ReplicatorError

LARGE = "x" * 8_000_000


class Peer(AgentEnd):
    """An agent's end as a worker has it."""

    def when_stalled(self, call: Any) -> None:
        self.stalled = call


@pytest.fixture
def ways() -> Iterator[list[tuple[Peer, socket.socket]]]:
    made = [(Peer(ours), theirs) for ours, theirs in (pair(), pair())]
    yield made
    for ours, theirs in made:
        ours.close()
        theirs.close()


@pytest.fixture
def heard() -> Iterator[queue.SimpleQueue[Any]]:
    yield queue.SimpleQueue()


@pytest.fixture
def pipes(ways: Any, heard: queue.SimpleQueue[Any]) -> Iterator[PipeReader]:
    reader = PipeReader(lambda task, worker, message: heard.put((task, message)))
    reader.start()
    for number, (ours, _) in enumerate(ways):
        reader.add(f"task-{number}", ours)
    yield reader
    reader.stop()


def test_messages_of_any_size_arrive_whole_and_in_order(pipes: PipeReader, ways: Any, heard: Any) -> None:
    worker = WorkerEnd(ways[0][1])

    def say() -> None:
        for text in ("a", LARGE, "b"):
            worker.send(Streaming(text))

    threading.Thread(target=say).start()
    assert [heard.get(timeout=10)[1].position for _ in range(3)] == ["a", LARGE, "b"]


def test_a_worker_that_is_frozen_within_a_message_holds_up_nobody(pipes: PipeReader, ways: Any, heard: Any) -> None:
    ways[0][1].sendall((5_000_000).to_bytes(8, "big") + b"half of it")
    time.sleep(0.1)
    WorkerEnd(ways[1][1]).send(Streaming("alive"))
    assert heard.get(timeout=2) == ("task-1", Streaming("alive"))


def test_a_worker_that_reads_nothing_blocks_no_sender(pipes: PipeReader, ways: Any) -> None:
    frozen = ways[0][0]
    began = time.monotonic()
    for number in range(3):
        frozen.send(SchemaHistoryAnswer(number, error=ReplicatorError("E5011", LARGE)))
    frozen.send(Saved(7))
    assert time.monotonic() - began < 2
    worker = WorkerEnd(ways[0][1])  # it goes on: what waited arrives
    assert [worker.receive().number for _ in range(4)] == [0, 1, 2, 7]


def test_a_worker_that_ends_is_heard_after_its_last_word(pipes: PipeReader, ways: Any, heard: Any) -> None:
    WorkerEnd(ways[0][1]).send(Streaming("last"))
    ways[0][1].sendall(b"\0\0\0")
    ways[0][1].close()
    assert heard.get(timeout=2) == ("task-0", Streaming("last"))
    assert heard.get(timeout=2) == ("task-0", None)
    ways[0][0].send(Saved(1))


def test_a_worker_hears_that_its_agent_is_gone(ways: Any) -> None:
    ways[0][0].close()
    with pytest.raises((EOFError, OSError)):
        WorkerEnd(ways[0][1]).receive()
