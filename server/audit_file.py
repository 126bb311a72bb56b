"""The copy of the audit in a file: JSON lines, readable by its owner only, opened again after it was rotated."""

from __future__ import annotations

import errno
import os
import stat
import threading
from pathlib import Path

import msgspec

from replicator.errors import ProcessError
from replicator.model.audit import AuditEntry


class AuditFile:
    """Thread-safe. Raises ProcessError E5073 when it is made and the file can't be used; `write` raises OSError."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._torn = False
        try:
            self._handle = self._open()
        except OSError as error:
            found = error.strerror or str(error)
            raise ProcessError("E5073", f"the audit file {path} can't be written", found=found) from None

    def write(self, entry: AuditEntry) -> None:
        """One write per line: processes that append to one file do not mix their lines."""
        line = msgspec.json.encode(entry) + b"\n"
        with self._lock:
            try:
                self._follow()
            finally:  # the former file rather than none
                self._append(line)

    def _append(self, line: bytes) -> None:
        data = b"\n" + line if self._torn else line
        self._torn = os.write(self._handle, data) < len(data)
        if self._torn:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _follow(self) -> None:
        """Opens the file of the path, if another one is there now."""
        if self._moved():
            former, self._handle = self._handle, self._open()
            os.close(former)

    def close(self) -> None:
        with self._lock:
            os.close(self._handle)

    def _open(self) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        handle = os.open(self._path, flags, 0o600)
        mode = os.fstat(handle).st_mode
        if not stat.S_ISREG(mode) or stat.S_IMODE(mode) & 0o077:
            os.close(handle)
            raise ProcessError(
                "E5073",
                f"the audit file {self._path} is not a file of its owner alone",
                found=f"mode {stat.S_IMODE(mode):04o}",
                wanted="a regular file with mode 0600",
                fix=f"chmod 600 {self._path}",
            )
        return handle

    def _moved(self) -> bool:
        try:
            there = self._path.stat(follow_symlinks=False)
        except FileNotFoundError:
            return True
        ours = os.fstat(self._handle)
        return (there.st_dev, there.st_ino) != (ours.st_dev, ours.st_ino)
