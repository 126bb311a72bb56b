"""Starts processes by `dev.warm.server`."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from dev.errors import ServerFailed
from dev.paths import TREE, private_folder
from dev.servers.launch import launch
from dev.warm.protocol import ANSWER, Request, address

_START_SECONDS = 60.0
_lock = threading.Lock()
_servers: dict[int, tuple[str, subprocess.Popen[bytes]]] = {}
"""Process id of the one that uses it -> name, process."""


class WarmProcess:
    """Like subprocess.Popen, of which it has the methods that are used here.

    Attributes:
        returncode: None until `poll` or `wait` has seen the end.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._descriptor = connection.detach()
        self._reading = threading.Lock()
        self.returncode: int | None = None
        self.pid = self._answer()

    def __del__(self) -> None:
        """Of one whose end nobody waited for."""
        self._close()

    def poll(self) -> int | None:
        return self._ended(0)

    def wait(self, timeout: float | None = None) -> int:
        """Raises subprocess.TimeoutExpired."""
        status = self._ended(timeout)
        if status is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0)
        return status

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def _ended(self, timeout: float | None) -> int | None:
        with self._reading:
            if self.returncode is None and select.select([self._descriptor], [], [], timeout)[0]:
                self.returncode = self._answer()
                self._close()
            return self.returncode

    def _answer(self) -> int:
        data = os.read(self._descriptor, ANSWER.size)
        if len(data) != ANSWER.size:
            raise ServerFailed("dev.warm", "ended")
        return int(ANSWER.unpack(data)[0])

    def _close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def start(
    command: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    stdin: IO[Any] | None = None,
    stdout: IO[Any],
    stderr: IO[Any],
) -> WarmProcess:
    """Args: command: a Python script and its arguments; environment: the whole; stdin: default: empty."""
    request: Request = {
        "command": list(command),
        "cwd": str(cwd),
        "environment": dict(environment),
    }
    connection = _connected()
    with Path(os.devnull).open("rb") as empty:
        streams = [(stdin or empty).fileno(), stdout.fileno(), stderr.fileno()]
        socket.send_fds(connection, [json.dumps(request).encode()], streams)
        return WarmProcess(connection)


def run(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    cwd: Path | None = None,
    given: str = "",
    timeout: float = 120.0,
) -> subprocess.CompletedProcess[str]:
    """Args: given: on stdin. Raises subprocess.TimeoutExpired; the process was killed then."""
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        source.write(given.encode())
        source.seek(0)
        process = start(command, cwd=cwd or Path.cwd(), environment=environment, stdin=source, stdout=out, stderr=err)
        try:
            status = process.wait(timeout)
        except BaseException:
            process.kill()
            raise
        texts = []
        for each in (out, err):
            each.seek(0)
            texts.append(each.read().decode(errors="replace"))
    return subprocess.CompletedProcess(list(command), status, texts[0], texts[1])


def _connected() -> socket.socket:
    """With the server of this process, which is started for the first one."""
    with _lock:
        known = _servers.get(os.getpid())
        if known is None or known[1].poll() is not None:
            known = _servers[os.getpid()] = _started()
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.connect(address(known[0]))
    return connection


@atexit.register
def _end() -> None:
    """Ends the server of this process, and with it what was started."""
    if os.getpid() in _servers:
        _, process = _servers.pop(os.getpid())
        process.kill()
        process.wait()


def _started() -> tuple[str, subprocess.Popen[bytes]]:
    folder = private_folder("warm")
    log = folder / "log"
    process = launch([sys.executable, "-m", "dev.warm.server", folder.name], log, TREE)
    end = time.monotonic() + _START_SECONDS
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as probe:
        while probe.connect_ex(address(folder.name)):
            if process.poll() is not None or time.monotonic() > end:
                raise ServerFailed("dev.warm", "did not start", log.read_text(errors="replace"))
            time.sleep(0.02)
    return folder.name, process
