"""Reads and replaces files that only their owner may read or write: tokens, keys, logins."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path

from replicator.host.files import NotUsable, reason


class Irregular(NotUsable):
    """It is a directory, a pipe or a device."""


class Exposed(NotUsable):
    """Others than its owner may read or write it. Attribute: mode: such as 0644."""

    def __init__(self, mode: int) -> None:
        self.mode = f"{stat.S_IMODE(mode):04o}"
        super().__init__(f"mode {self.mode}")


def read(path: str | Path, most: int) -> bytes:
    """At most that many bytes. The open file is checked, never its name; a pipe does not block. Raises Irregular,
    Exposed, NotUsable."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:  # noqa: PTH123 - a descriptor
            mode = os.fstat(file.fileno()).st_mode
            if not stat.S_ISREG(mode):
                raise Irregular("not a regular file")
            if stat.S_IMODE(mode) & 0o077:
                raise Exposed(mode)
            return file.read(most)
    except (OSError, ValueError) as error:
        raise NotUsable(reason(error)) from error


def replace(path: Path, content: bytes) -> None:
    """As a whole or not at all, with mode 0600; missing directories are made with mode 0700. Raises OSError."""
    fresh = draft(path)
    try:
        write_new(fresh, content)
        fresh.replace(path)
    finally:
        with contextlib.suppress(OSError):
            fresh.unlink()


def draft(path: Path) -> Path:
    """A name beside `path` that no other process takes."""
    return path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}")


def write_new(path: Path, content: bytes) -> None:
    """A file that is not there yet, durable when this returns. Raises OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
