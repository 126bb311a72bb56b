"""The position of a file sink: a small JSON file beside the data, `PATH.position`, replaced whole at each commit."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from replicator.errors import SinkError
from replicator.model.position import Position


class Mark(msgspec.Struct, frozen=True):
    """The first `size` bytes of the data are everything up to `position`, delivered for the incarnation `uid`."""

    uid: str
    epoch: int
    size: int
    position: Position


class MarkFile:
    """Reads and replaces the mark. Durable when `write` returns."""

    def __init__(self, data: Path) -> None:
        self._path = data.with_name(data.name + ".position")

    def read(self) -> Mark | None:
        """None when there is none. Raises SinkError E3201 for content that is not ours."""
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=Mark)
        except FileNotFoundError:
            return None
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise SinkError(
                "E3201",
                f"{self._path} is not the position of a file sink",
                found=str(error),
                fix="Give sink.path a new file, or delete both to begin anew.",
            ) from error

    def write(self, mark: Mark) -> None:
        draft = self._path.with_name(self._path.name + ".new")
        with draft.open("wb") as file:
            file.write(msgspec.json.encode(mark))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self._path)
        folder = os.open(self._path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
