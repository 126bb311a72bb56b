"""The decoder that handles ordinary events in compiled code."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from replicator import compiled
from replicator.decode.binlog import transaction_payload
from replicator.decode.binlog.framing import Event
from replicator.decode.decoder import BinlogDecoder
from replicator.decode.native.arena_collector import ArenaCollector
from replicator.decode.native.event_loop import EventLoop, new_loop
from replicator.decode.native.row_functions import row_functions
from replicator.decode.transactions.transaction_state import TransactionState

if TYPE_CHECKING:
    from replicator.compiled.loop import Loop

log = logging.getLogger(__name__)


class CompiledDecoder(BinlogDecoder):
    """`BinlogDecoder`, faster: what is ordinary is taken in front of it. Its batches have `PackedRecords`."""

    _collect = ArenaCollector

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._functions = row_functions()
        super().__init__(*arguments, **options)
        assert isinstance(self._collector, ArenaCollector), "see `_collect`"  # noqa: S101
        self._loop = EventLoop(
            cast("Loop", self._state),
            self._changes,
            self._metadata,
            self._collector,
            self._progress,
            self._versions,
            self._watch.noted,
            packets=not self._in_file,
        )

    def _new_state(self, clock: Callable[[], int]) -> TransactionState:
        loop = new_loop(packets=not self._in_file, mariadb=self._flavor == "mariadb", clock=clock)
        return cast("TransactionState", loop)  # it has the same attributes

    def _take(self, buffer: bytes, at: int) -> int:
        behind = self._loop(buffer, at, checksum=self._control.checksum)
        if behind != at:
            self._kind = self._loop.loop.kind
        return behind

    def _inside(self, b: bytes, p: int, end: int) -> Iterator[Event]:
        begun = self._loop.loop.begun_payload()
        if begun is not None:
            return transaction_payload.rest_of(*begun, self._take_inside)
        return transaction_payload.inside(b, p, end, self._take_inside)

    def _take_inside(self, buffer: bytes, at: int, whole: bool) -> int:
        behind = self._loop.inside(buffer, at, whole)
        if behind != at:
            self._kind = self._loop.loop.kind
        return behind


def decoder_class() -> type[BinlogDecoder]:
    """The compiled one where it runs."""
    _tell()
    return CompiledDecoder if compiled.available() else BinlogDecoder


@cache
def _tell() -> None:
    """Once a process: which one it is."""
    log.log(logging.INFO if compiled.available() else logging.WARNING, "the decoder is %s", compiled.describe())
