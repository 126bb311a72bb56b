"""The folder of the socket over which a Core asks its template process for workers.

multiprocessing creates it under TMPDIR. The path of a Unix socket has at most 107 bytes: with a long TMPDIR no worker
could ever be started. And a job that cleans up temporary files may remove it below a Core that runs for weeks; hence
the unit's RuntimeDirectory comes first.
"""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from replicator.errors import ProcessError

_PATH_BYTES: Final = 107
"""unix(7): sun_path has 108 bytes, with a 0 at the end."""
_LONGEST: Final = _PATH_BYTES - len("/pymp-12345678/listener-12345678")
_OF_THE_PROCESS: Final = {errno.EMFILE, errno.ENFILE, errno.ENOMEM}
"""Errors that say nothing about the folder: every folder would be refused for them, and another one does not help."""


def choose(folders: Iterable[str]) -> str:
    """The first folder that a socket's path fits into and that can be written to.

    Raises:
        ProcessError: E5018.
        OSError: the process can open no file at all.
    """
    refused = []
    for folder in folders:
        if (reason := _refusal(folder)) is None:
            return folder
        refused.append(f"{folder}: {reason}")
    raise ProcessError(
        "E5018",
        "the Core has no directory for the socket of its worker processes",
        found="; ".join(refused),
        wanted=f"a writable directory whose path has at most {_LONGEST} bytes",
        fix="Set TMPDIR to a directory with a short path that the Core can write to.",
    )


@contextlib.contextmanager
def socket_folder() -> Iterator[None]:
    """Temporary folders that are created inside the `with` block are created where a socket is possible."""
    before = tempfile.tempdir
    tempfile.tempdir = choose(_candidates())
    try:
        yield
    finally:
        tempfile.tempdir = before


def _candidates() -> list[str]:
    """Without tempfile.gettempdir: it probes by files too, and blames the folders where no file can be opened."""
    runtime = os.environ.get("RUNTIME_DIRECTORY", "").split(":")  # systemd.exec(5): a colon between several
    named = [os.environ.get(name, "") for name in ("TMPDIR", "TEMP", "TMP")]
    return [folder for folder in [*runtime, *named, "/tmp", "/var/tmp"] if folder]  # noqa: S108


def _refusal(folder: str) -> str | None:
    """Why the socket cannot be in this folder.

    Asks by a file: a full file system is found too, and root passes every check of permissions.
    """
    if (length := len(os.fsencode(folder))) > _LONGEST:
        return f"its path has {length} bytes"
    try:
        with tempfile.TemporaryDirectory(prefix="pymp-", dir=folder) as made:
            Path(made, "probe").touch()
    except OSError as error:
        if error.errno in _OF_THE_PROCESS:
            raise
        return error.strerror or str(error)
    return None
