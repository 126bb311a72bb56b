"""Reads that browsers share: whatever their number, each thing is read once in a while, by one thread at a time."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, Generic, TypeVar

import msgspec

from replicator.coordination.clock import now_ms
from replicator.errors import CoordinationError, ReplicatorError

T = TypeVar("T")
_THREADS: Final = 2


class Read(msgspec.Struct, Generic[T], frozen=True):
    """value: None: it could not be read, and never was. read_ms: when it was, 0 for never. error: why it is older than
    it should be, None while it is not."""

    value: T | None
    read_ms: int
    error: dict[str, str] | None = None


class _Kept:
    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.read: Read[Any] = Read(None, 0)
        self.tried_at = float("-inf")


class SharedReads:
    """Of the event loop; the reads are in threads of its own. What can't be read is tried again after the same time,
    and the last value stays. `made`: reads so far.

    Args:
        most: values that are kept, those that were wanted last.
    """

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self.made = 0
        self._clock = clock
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._threads = ThreadPoolExecutor(_THREADS, "task-pages")

    async def get(self, key: Hashable, make: Callable[[], T], seconds: float) -> Read[T]:
        """What `make` returned at most `seconds` ago.

        Raises:
            ReplicatorError: what `make` raises, but errors of the coordination, which are in `Read.error`.
        """
        kept = self._kept.setdefault(key, _Kept())
        self._kept.move_to_end(key)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
        async with kept.lock:
            if self._clock() - kept.tried_at >= seconds:
                kept.read = await self._tried(kept.read, make)
                kept.tried_at = self._clock()
        return kept.read

    async def _tried(self, before: Read[T], make: Callable[[], T]) -> Read[T]:
        self.made += 1
        try:
            value = await asyncio.get_running_loop().run_in_executor(self._threads, make)
        except CoordinationError as error:
            return Read(before.value, before.read_ms, _shown(error))
        return Read(value, now_ms())

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def _shown(error: ReplicatorError) -> dict[str, str]:
    return {key: str(value) for key, value in error.to_dict().items()}
