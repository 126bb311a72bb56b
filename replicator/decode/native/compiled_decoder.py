"""The decoder that handles ordinary events in compiled code."""

from __future__ import annotations

import logging
import time
from functools import cache
from typing import Any

from replicator import compiled
from replicator.decode.decoder import BinlogDecoder
from replicator.decode.native.arena_collector import ArenaCollector
from replicator.decode.native.loop_state import Taking
from replicator.decode.native.row_programs import native_rows

log = logging.getLogger(__name__)


class CompiledDecoder(BinlogDecoder):
    """`BinlogDecoder`, faster: what is ordinary is taken in front of it. Its batches have `PackedRecords`."""

    _compile = staticmethod(native_rows)
    _collect = ArenaCollector

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        assert isinstance(self._collector, ArenaCollector), "see `_collect`"  # noqa: S101
        self._taking = Taking(
            self._changes,
            self._collector,
            self._progress,
            self._versions,
            packets=not self._in_file,
            clock=options.get("clock", time.time_ns),
        )

    def _take(self, buffer: bytes, at: int) -> int:
        behind = self._taking(buffer, at, checksum=self._control.checksum)
        if behind != at:
            self._kind = self._taking.kind
        return behind


def decoder_class() -> type[BinlogDecoder]:
    """The compiled one where it runs."""
    _tell()
    return CompiledDecoder if compiled.available() else BinlogDecoder


@cache
def _tell() -> None:
    """Once a process: which one it is."""
    log.log(logging.INFO if compiled.available() else logging.WARNING, "the decoder is %s", compiled.describe())
