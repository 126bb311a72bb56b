"""Where the history of a Monitor is kept."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

import msgspec

from monitor.history.history import History, log
from monitor.history.store import Store
from replicator.errors import ProcessError
from replicator.host.state_directory import state_directory

MEMORY_BYTES: Final = 256 << 20
"""Of a history without a file."""


class Kept(msgspec.Struct, frozen=True):
    """
    Attributes:
        path: of the file; None: in memory.
        bytes: that it may have.
        chosen: the operator has named the file: without it the Monitor does not start. That of nobody's choice can also
            be absent, on a read-only file system for instance.
    """

    path: Path | None
    bytes: int
    chosen: bool = True

    def opened(self) -> History:
        """Raises ProcessError E5130 for a file that was chosen."""
        try:
            return History(Store(self.path, self.bytes if self.path is not None else MEMORY_BYTES))
        except ProcessError as error:
            if self.chosen:
                raise
            log.warning("charts begin with the start of this Monitor", code=error.code, error=error.found)
            return History(Store(None, MEMORY_BYTES))


def own_file(root: str, listen: str) -> Path:
    """Of the Monitor that listens there: two on one host have two."""
    name = hashlib.sha256(f"{root} {listen}".encode()).hexdigest()[:10]
    return state_directory() / f"monitor.{name}.sqlite"
