"""The pid file of a process: locked and up to date as long as the process runs."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from replicator.errors import ProcessError
from replicator.host.process_record import MOST_BYTES, ProcessRecord, decode, encode
from replicator.host.state_directory import state_directory

_LOCK_SECONDS: Final = 2.0
"""Who looks whether the file is locked locks it for a moment."""


def default_folder() -> Path:
    return state_directory() / "run"


class PidFile:
    """Locked (flock(2)) by this process. The lock ends with the process, however that ends."""

    def __init__(self, path: Path, descriptor: int, record: ProcessRecord) -> None:
        self.path = path
        self._descriptor = descriptor
        self._record = record
        self._write()

    def stopping(self) -> None:
        """The process was told to end: who wants it to end waits now, and does not signal it again. Never raises."""
        self._record = msgspec.structs.replace(self._record, stopping=True)
        with contextlib.suppress(OSError):
            self._write()

    def remove(self) -> None:
        with contextlib.suppress(OSError):
            if os.path.samestat(self.path.stat(), os.fstat(self._descriptor)):
                self.path.unlink()

    def close(self) -> None:
        os.close(self._descriptor)

    def _write(self) -> None:
        data = encode(self._record)
        os.pwrite(self._descriptor, data, 0)
        os.ftruncate(self._descriptor, len(data))


@contextlib.contextmanager
def held(path: Path | None, record: ProcessRecord, log: Any) -> Iterator[Callable[[], None]]:
    """A pid file inside the `with` block, removed at its end. Gives what to call when the process is to end.

    Args:
        path: of the file; None: one in the default folder.
        log: a logger; it is no error if the default folder can't be written to.

    Raises:
        ProcessError: E5051, a running process has the file; E5052, it can't be written.
    """
    file = _create(path, record) if path is not None else _default(record, log)
    if file is None:
        yield lambda: None
        return
    try:
        yield file.stopping
        file.remove()  # not after an exception: who waits for the end sees that it was none in order
    finally:
        file.close()


def _default(record: ProcessRecord, log: Any) -> PidFile | None:
    try:
        return _create(_default_path(record), record)
    except ProcessError as error:
        log.info(f"no pid file: `replicator {record.kind} stop` does not find this process", reason=error.found)
        return None


def _default_path(record: ProcessRecord) -> Path:
    folder = default_folder()
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for path in folder.glob(f"{record.kind}-*.pid"):
            remove_stale(path)
    return folder / f"{record.kind}-{record.pid}.pid"


def remove_stale(path: Path) -> None:
    """Removes the file of a process that was killed: nobody has it locked."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
        finally:
            os.close(descriptor)


def _create(path: Path, record: ProcessRecord) -> PidFile:
    path = path.absolute()
    end = time.monotonic() + _LOCK_SECONDS
    while True:
        descriptor = _locked(path, end)
        try:
            _check_is_ours(path, descriptor)
            if os.path.samestat(path.stat(), os.fstat(descriptor)):
                return PidFile(path, descriptor, record)
        except FileNotFoundError:
            pass  # removed between open and lock, by a process that has ended
        except OSError as error:
            os.close(descriptor)
            raise _not_usable(path, error.strerror or str(error)) from None
        except ProcessError:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _locked(path: Path, end: float) -> int:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
    except OSError as error:
        raise _not_usable(path, error.strerror or str(error)) from None
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                other = decode(os.pread(descriptor, MOST_BYTES, 0))
                os.close(descriptor)
                raise ProcessError(
                    "E5051", f"the pid file {path} is in use", found=str(other or "a process that has locked it")
                ) from None
            time.sleep(0.05)
        except OSError as error:
            os.close(descriptor)
            raise _not_usable(path, error.strerror or str(error)) from None
        else:
            return descriptor


def _check_is_ours(path: Path, descriptor: int) -> None:
    """A file that is something else is not overwritten."""
    found = os.pread(descriptor, MOST_BYTES, 0)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise _not_usable(path, "it is not a regular file")
    if found and not found.partition(b"\n")[0].strip().isdigit():
        raise _not_usable(path, "it has content that is not that of a pid file")


def _not_usable(path: Path, reason: str) -> ProcessError:
    return ProcessError("E5052", f"the pid file {path} cannot be used", found=f"{path}: {reason}")
