"""Checks of `replicator check` on the path of a file sink. Nothing is created or changed."""

from __future__ import annotations

import os
from pathlib import Path

from replicator.errors import SinkError
from replicator.host import files
from replicator.sink.file_paths import Place, find
from replicator.sink.file_position import foreign


def check(path: str, directory: Path | None) -> str:
    """The path that is written to. Raises the SinkError that a task would stop with, as far as that can be known
    without being that task."""
    place = find(path, directory)
    try:
        _look(place)
        return place.shown
    finally:
        place.close()


def _look(place: Place) -> None:
    try:
        with os.fdopen(files.open_file(place.folder, place.name, os.O_RDONLY), "rb") as file:
            size = os.fstat(file.fileno()).st_size
    except FileNotFoundError:
        _writable(".", place, f"the directory of {place.shown}")
        return
    except files.NotUsable as error:
        raise SinkError("E3201", f"{place.shown} can't be written", found=str(error)) from None
    if size and not _exists(place, f"{place.name}.position"):
        raise foreign(place.shown, "it has content but no .position file")
    _writable(place.name, place, place.shown)


def _exists(place: Place, name: str) -> bool:
    try:
        os.stat(name, dir_fd=place.folder, follow_symlinks=False)
    except OSError:
        return False
    return True


def _writable(name: str, place: Place, shown: str) -> None:
    if not os.access(name, os.W_OK, dir_fd=place.folder):
        raise SinkError("E3201", f"{shown} can't be written", found="this user has no write permission")
