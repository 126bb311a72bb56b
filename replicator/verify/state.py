"""The file in which a verification that was interrupted continues."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import msgspec

from replicator.errors import ProcessError
from replicator.model.decoding import from_json
from replicator.mysql.table_key import Bound
from replicator.verify.report import TableResult

_VERSION = 1


class OpenTable(msgspec.Struct):
    """A table that is compared by a key. `done`: key of the last row; `key`: names and types of the key's columns."""

    result: TableResult
    done: Bound
    key: str


class Progress(msgspec.Struct):
    """`task`: fingerprint of what is compared."""

    task: str
    v: int = _VERSION
    finished: list[TableResult] = []
    open: OpenTable | None = None


class StateFile:
    """Args:
    path: None: nothing is kept.
    task: fingerprint of what is compared.
    """

    def __init__(self, path: Path | None, task: str) -> None:
        self._path = path
        self.progress = Progress(task)
        if path is not None and path.exists():
            self.progress = self._read(path, task)

    def finish(self, *results: TableResult) -> None:
        self.progress.finished += results
        self.progress.open = None
        self.save()

    def keep(self, result: TableResult, done: Bound, key: str) -> None:
        self.progress.open = OpenTable(result, done, key)
        self.save()

    def save(self) -> None:
        """Raises ProcessError E5033."""
        if self._path is None:
            return
        temporary = self._path.with_name(self._path.name + ".new")
        try:
            temporary.write_bytes(msgspec.json.encode(self.progress))
            os.replace(temporary, self._path)  # noqa: PTH105
        except OSError as error:
            raise _unusable(self._path, str(error)) from error

    def remove(self) -> None:
        """All tables are compared: the next verification begins again."""
        if self._path is not None:
            with contextlib.suppress(FileNotFoundError):
                self._path.unlink()

    def _read(self, path: Path, task: str) -> Progress:
        try:
            found = from_json(path.read_bytes(), Progress)
        except (OSError, msgspec.MsgspecError) as error:
            raise _unusable(path, str(error)) from error
        if (found.task, found.v) != (task, _VERSION):
            raise _unusable(path, "it belongs to another task, or to other options of it")
        return found


def _unusable(path: Path, found: str) -> ProcessError:
    return ProcessError(
        "E5033",
        f"the state {path} can't be used",
        found=found,
        wanted="a file that this command wrote for the same task and the same --table",
        fix="Give another file, or delete it to begin again.",
    )
