"""The interpreter is free for others while rows are decoded, batches are written, compressed and summed."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from crc32c import crc32c

from replicator import compiled
from replicator.decode.native.compiled_decoder import CompiledDecoder
from replicator.model.position import Position
from replicator.sink.kafka.compression import CODECS
from replicator.sink.kafka.records import Stamp
from tests.unit.compiled import both as pair
from tests.unit.compiled.test_cost import ROWS, stream

TRIES = 200


class Other:
    """A thread that counts as often as it gets the interpreter. Nobody takes that away from a thread that runs: it is
    given up by sleeping, or by the code that is tested."""

    def __init__(self) -> None:
        self.ticks = 0
        self.wanted = True
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self) -> None:
        while self.wanted:
            self.ticks += 1
            time.sleep(0.00005)

    def moves_during(self, call: Callable[[], object]) -> bool:
        """Whether it does in one of many calls: it may have been about to sleep, or the processor was another's."""
        for _ in range(TRIES):
            before = self.ticks
            call()
            if self.ticks != before:
                return True
            time.sleep(0.0001)
        return False


@pytest.fixture
def other() -> Iterator[Other]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    other = Other()
    other.thread.start()
    try:
        yield other
    finally:
        other.wanted = False
        other.thread.join()
        sys.setswitchinterval(interval)


def test_the_lock_is_what_the_others_wait_for(other: Other) -> None:
    assert not other.moves_during(lambda: sum(range(20_000)))


class Watched:
    """A `Loop`, and whether the other thread has moved during its last run."""

    def __init__(self, loop: Any, other: Other) -> None:
        vars(self).update(loop=loop, other=other, moved=False)

    def __getattr__(self, name: str) -> Any:
        return getattr(vars(self)["loop"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(vars(self)["loop"], name, value)

    def run(self, *arguments: Any) -> int:
        before = self.other.ticks
        behind: int = self.loop.run(*arguments)
        vars(self)["moved"] = self.other.ticks != before
        return behind


def prepared(form: str) -> tuple[Any, bytes]:
    before, data = stream(1, ROWS)
    decoder: Any = pair.decoder(CompiledDecoder, form, "mysql", "file", Position("binlog.000001", 4))
    decoder.feed(before)
    return decoder, data


@pytest.mark.parametrize("form", pair.FORMATS)
def test_decoding(other: Other, form: str) -> None:
    def moved() -> bool:
        decoder, data = prepared(form)
        watched = decoder._loop.loop = Watched(decoder._loop.loop, other)
        decoder.feed(data)
        return bool(watched.moved)

    assert any(moved() for _ in range(20))


def test_writing_batches(other: Other) -> None:
    decoder, data = prepared("debezium")
    (batch,) = decoder.feed(data)
    blocks = batch.records.blocks

    def write() -> None:
        batches = compiled.module("kafka").Batches(Stamp("t", 1).prefix)
        assert batches.names(blocks)
        batches.encode(blocks, [(4, 0, 1 << 19, 1 << 20)])

    assert other.moves_during(write)


@pytest.mark.parametrize("name", [name for name, codec in CODECS.items() if codec is not None])
def test_compressing(other: Other, name: str) -> None:
    codec = CODECS[name]
    assert codec is not None
    data = memoryview(bytes(range(256)) * 4096)
    assert other.moves_during(lambda: codec.compress(data))


def test_summing(other: Other) -> None:
    data = bytes(16 << 20)  # for as long as it takes the other one to be woken
    assert other.moves_during(lambda: crc32c(data))
