"""The folder of the socket over which a Core asks its template process for workers.

multiprocessing creates it under TMPDIR. The path of a Unix socket has at most 107 bytes: with a long TMPDIR no worker
could ever be started. And a job that cleans up temporary files may remove it below a Core that runs for weeks; hence
the unit's RuntimeDirectory comes first.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from replicator.errors import ProcessError

_PATH_BYTES: Final = 107
"""unix(7): sun_path has 108 bytes, with a 0 at the end."""
_NAME_BYTES: Final = len("/pymp-12345678/listener-12345678")


def choose(folders: Iterable[str]) -> str:
    """The first folder that a socket's path fits into and that can be written to.

    Raises:
        ProcessError: E5018.
    """
    known = list(folders)
    for folder in known:
        if len(os.fsencode(folder)) + _NAME_BYTES <= _PATH_BYTES and _writable(folder):
            return folder
    raise ProcessError(
        "E5018",
        "the Core's socket for its worker processes has no folder",
        found=", ".join(known),
        wanted=f"a writable folder whose path has at most {_PATH_BYTES - _NAME_BYTES} bytes",
        fix="Set TMPDIR to a short path of a folder that the Core can write to.",
    )


@contextlib.contextmanager
def socket_folder() -> Iterator[None]:
    """Temporary folders that are created inside the `with` block are created where a socket is possible."""
    before = tempfile.tempdir
    tempfile.tempdir = choose([*_runtime_directories(), tempfile.gettempdir(), "/tmp", "/var/tmp"])  # noqa: S108
    try:
        yield
    finally:
        tempfile.tempdir = before


def _runtime_directories() -> list[str]:
    """systemd.exec(5): of `RuntimeDirectory=`, with a colon between several."""
    return [folder for folder in os.environ.get("RUNTIME_DIRECTORY", "").split(":") if folder]


def _writable(folder: str) -> bool:
    """Asks by a file: a full file system is found too, and root passes every check of permissions."""
    try:
        with tempfile.TemporaryDirectory(prefix="pymp-", dir=folder) as made:
            Path(made, "probe").touch()
    except OSError:
        return False
    return True
