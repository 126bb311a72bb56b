"""One series of a latency measurement: a writer in a process of its own, a consumer in this one."""

from __future__ import annotations

import gc
import json
import multiprocessing
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Final, NamedTuple, TypeAlias

from dev.bench.consumers import Consumer

FIRST_ID: Final = 1 << 40

_WARM: Final = 0.1
"""Of the time, and at least two seconds: not counted."""

Write: TypeAlias = Callable[[int], tuple[float, float]]
"""Commits the row with an id. When its commit was sent, and when it was answered; monotonic."""


class Series(NamedTuple):
    """Milliseconds per row: from just before its commit is sent to the moment the consumer has the record, and to the
    answer to the commit."""

    ms: list[float]
    commit_ms: list[float]


def measured(
    reader: Callable[[], Consumer], make: Callable[..., Write], args: tuple[object, ...], rate: int, seconds: float
) -> Series:
    """Writes that many rows per second. Raises RuntimeError when one does not arrive.

    Args:
        make: called with `args` in the writer's process.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    writer = context.Process(target=_write, args=(theirs, make, args, rate, seconds), daemon=True)
    writer.start()
    try:
        seen = _consume(reader(), ours)
        sent: dict[int, tuple[float, float]] = ours.recv()
    finally:
        writer.kill()
        writer.join()
    lost = sent.keys() - seen.keys()
    if lost:
        raise RuntimeError(f"{len(lost)} rows never arrived")
    counted = sorted(sent)[int(max(_WARM * seconds, 2) * rate) :] or sorted(sent)
    return Series(
        [(seen[each] - sent[each][0]) * 1000 for each in counted],
        [(sent[each][1] - sent[each][0]) * 1000 for each in counted],
    )


def _write(pipe: Connection, make: Callable[..., Write], args: tuple[object, ...], rate: int, seconds: float) -> None:
    """Says in the end how many rows, and when each commit was sent and answered."""
    write = make(*args)
    committed: dict[int, tuple[float, float]] = {}
    pipe.recv()
    began = time.monotonic()
    total = int(rate * seconds)
    for number in range(total):
        early = began + number / rate - time.monotonic()
        if early > 0:
            time.sleep(early)
        committed[FIRST_ID + number] = write(FIRST_ID + number)
    pipe.send(total)
    pipe.send(committed)


def _consume(consumer: Consumer, pipe: Connection) -> dict[int, float]:
    """id -> when it came. Ends when all that were written are there, or none has come for ten seconds."""
    seen: dict[int, float] = {}
    total = None
    gc.collect()
    gc.disable()
    try:
        pipe.send("begin")
        quiet = time.monotonic() + 30
        while (total is None or len(seen) < total) and time.monotonic() < quiet:
            keys = consumer.keys(0.2)
            now = time.monotonic()
            for key in keys:
                seen.setdefault(json.loads(key)["id"], now)
            if keys:
                quiet = now + 10
            elif total is None and pipe.poll(0):
                total = pipe.recv()
    finally:
        gc.enable()
        consumer.close()
    if total is None:
        total = pipe.recv()
    return seen
