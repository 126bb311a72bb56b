"""A list of byte strings that moves to an unlinked temporary file when it grows."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Final

from replicator.errors import SourceUnavailable

_MOST_IN_MEMORY: Final = 32 << 20


class SpillFile:
    """
    Args:
        most: bytes in memory; beyond them all is in a temporary file (in TMPDIR). 0: it is there from the beginning.

    Attributes:
        size: bytes that are in it.

    Every call but `close` raises SourceUnavailable E2311 when the disk is full: nothing has left then, and the
    transaction is read again from its beginning.
    """

    def __init__(self, most: int = _MOST_IN_MEMORY) -> None:
        self.size = 0
        self._most = most
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=most)  # noqa: SIM115 closed by `close`
        self._on_disk = False
        if not most:
            self.to_disk()

    @property
    def in_memory(self) -> int:
        return 0 if self._on_disk else self.size

    def add(self, *parts: bytes) -> None:
        """One chunk, of these parts."""
        with _full_disk():
            length = sum(map(len, parts))
            self._file.seek(self.size)
            self._file.write(length.to_bytes(8, "little"))
            self._file.writelines(parts)
            self.size += 8 + length
            self._on_disk = self._on_disk or self.size > self._most

    def truncate(self, size: int) -> None:
        """Only what was in it when it had this size stays."""
        with _full_disk():
            self._file.truncate(size)
            self.size = size

    def chunks(self, start: int = 0) -> Iterator[bytes]:
        """In order. `start`: size of the spill in front of the first chunk that is wanted."""
        at = start
        while at < self.size:
            with _full_disk():
                self._file.seek(at)
                length = int.from_bytes(self._file.read(8), "little")
                chunk = self._file.read(length)
            at += 8 + length
            yield chunk

    def to_disk(self) -> None:
        """Takes no more memory."""
        if not self._on_disk:
            with _full_disk():
                self._file.rollover()  # type: ignore[attr-defined]
            self._on_disk = True

    def close(self) -> None:
        self._file.close()

    def __del__(self) -> None:
        """A decoder ends with its stream, whatever it still holds."""
        self._file.close()


@contextmanager
def _full_disk() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SourceUnavailable(
            "E2311",
            "rows of an unfinished transaction can't be buffered",
            found=f"{error.strerror or error}{_where()}",
            wanted="space for the largest transaction",
            fix="Free disk space there, or set TMPDIR to a directory on a larger disk.",
        ) from error


def _where() -> str:
    """On a full disk the search for a directory may fail itself: it writes a file into each."""
    try:
        return f" in {tempfile.gettempdir()}"
    except OSError:
        return ""
