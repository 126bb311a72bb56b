"""Paths that a file sink may write to: regular files with one name, below the allowed directory, through no symbolic
link."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from replicator.errors import SinkError
from replicator.host import files

_FLAGS: Final = os.O_RDWR | os.O_APPEND


class Place(NamedTuple):
    """folder: descriptor of the directory; name: of the file in there; shown: its path, for errors."""

    folder: int
    name: str
    shown: str

    def open(self) -> BinaryIO:
        """The file, made if it is not there; nothing of it is changed. Raises SinkError E3201, E3203."""
        try:
            handle = self._descriptor()
        except files.NotUsable as error:
            raise SinkError("E3201", f"{self.shown} can't be written", found=str(error)) from None
        if os.fstat(handle).st_nlink != 1:
            os.close(handle)
            found = "the file has further hard links, or was deleted"
            raise SinkError(
                "E3203", f"{self.shown} is not a file of this task", found=found, wanted="exactly one hard link"
            )
        return os.fdopen(handle, "ab+", buffering=0)

    def _descriptor(self) -> int:
        try:
            return files.open_file(self.folder, self.name, _FLAGS)
        except FileNotFoundError:
            return files.create_file(self.folder, self.name, _FLAGS)

    def close(self) -> None:
        os.close(self.folder)


def find(path: str, directory: Path | None) -> Place:
    """The place of `sink.path`; the caller closes it. Raises SinkError E3202 for one that tasks may not write to."""
    if directory is None:
        raise SinkError(
            "E3202",
            "tasks may not write files on this host",
            found="no --file-sink-directory",
            wanted="an allowed directory",
            fix="Start the process with --file-sink-directory, or set REPLICATOR_FILE_SINK_DIRECTORY.",
        )
    try:
        parts = files.below(path, directory)
        folder = files.open_folder(directory, parts[:-1])
    except files.NotUsable as error:
        wanted = f"a file below {directory}, in an existing directory"
        raise SinkError("E3202", f"tasks may not write to {path!r}", found=str(error), wanted=wanted) from None
    return Place(folder, parts[-1], str(directory.joinpath(*parts)))
