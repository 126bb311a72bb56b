"""The position file of a file sink, `PATH.position`: a small JSON file that is replaced as a whole at each commit. It
records the owner of the data, the committed size, and the position."""

from __future__ import annotations

import contextlib
import hashlib
import os
from typing import Final

import msgspec

from replicator.errors import SinkError
from replicator.host import files
from replicator.model.decoding import from_json
from replicator.model.position import Position
from replicator.model.term import Term

_MOST: Final = 4 << 20
"""Bytes; positions with long GTID sets have 300 kB."""


class Mark(msgspec.Struct, frozen=True):
    """The first `size` bytes of the data were written by the incarnation `uid` of `task` and are everything up to
    `position`. The mark is there before the first byte, without a position.

    `digest`: of these bytes, `digest()` in hexadecimal.
    """

    task: str
    uid: str
    epoch: int
    size: int
    digest: str
    position: Position | None = None

    def is_of(self, term: Term) -> bool:
        return (self.task, self.uid) == (term.task, term.uid)


def new_digest() -> hashlib.blake2b:
    return hashlib.blake2b(digest_size=16)


class MarkFile:
    """Reads and replaces the mark. Durable when `write` returns.

    Args:
        folder: descriptor of the directory of the data; the caller closes it.
        name: of the data in there.
        shown: the path of the data, for errors.
    """

    def __init__(self, folder: int, name: str, shown: str) -> None:
        self._folder = folder
        self._name = f"{name}.position"
        self.shown = f"{shown}.position"
        self._ours = False

    def read(self, term: Term) -> Mark | None:
        """None when there is none. What a purged incarnation has written stays, and is continued without its position.
        Raises SinkError E3203 for a file that is not the mark of this task."""
        content = self._content()
        if content is None:
            return None
        try:
            mark = from_json(content, Mark)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise foreign(self.shown, "it is not the position of a file sink") from None
        if mark.task == term.task and mark.uid in term.purged:
            mark = msgspec.structs.replace(mark, uid=term.uid, epoch=term.epoch, position=None)
        if not mark.is_of(term):
            raise foreign(self.shown, "it belongs to another task, or to an earlier task of this name")
        self._ours = True
        return mark

    def write(self, mark: Mark) -> None:
        """Raises OSError, and SinkError E3203 where somebody else has made a file of that name since `read`."""
        if not self._ours and self._content() is not None:
            raise foreign(self.shown, "another process has just created it")
        draft = f".{_short(mark)}.position.new"  # of us alone: a name that has our uid in it
        with contextlib.suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=self._folder)
        with os.fdopen(_create(self._folder, draft, self.shown), "wb") as file:
            file.write(msgspec.json.encode(mark))
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        self._ours = True
        os.fsync(self._folder)

    def _content(self) -> bytes | None:
        try:
            with os.fdopen(files.open_file(self._folder, self._name, os.O_RDONLY), "rb") as file:
                return file.read(_MOST)
        except FileNotFoundError:
            return None
        except files.NotUsable as error:
            raise foreign(self.shown, str(error)) from None


def foreign(path: str, why: str) -> SinkError:
    """What is not provably ours is not touched, and nothing of it is shown."""
    fix = "Set `sink.path` to another file, or move this file and its .position file."
    return SinkError(
        "E3203", f"{path} is not a file of this task", found=why, wanted="no file, or a file of this task", fix=fix
    )


def _create(folder: int, name: str, shown: str) -> int:
    try:
        return files.create_file(folder, name, os.O_WRONLY)
    except files.NotUsable as error:
        raise SinkError("E3201", f"{shown} can't be written", found=str(error)) from None


def _short(mark: Mark) -> str:
    return hashlib.blake2b(f"{mark.uid} {mark.task}".encode(), digest_size=16).hexdigest()
