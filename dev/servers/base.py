"""One server process: start until it really serves, stop, kill, pause, and nothing left behind."""

from __future__ import annotations

import abc
import contextlib
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

from dev.errors import ServerFailed
from dev.paths import private_folder
from dev.servers.launch import launch
from dev.servers.ports import free_port


class Server(abc.ABC):
    """A server on 127.0.0.1. Its port and data survive stop(), kill() and restart(); close() removes the data."""

    name: ClassVar[str]
    start_timeout: ClassVar[float] = 60.0
    host = "127.0.0.1"

    def __init__(self, *, port: int | None = None, fast: bool = False, folder: Path | None = None) -> None:
        """`fast` puts the data on a tmpfs where there is one; `folder` is kept on close() and its process detached."""
        self.port = port or free_port()
        self.fast = fast
        self._kept = folder
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.RLock()

    # What a kind of server adds

    @abc.abstractmethod
    def _prepare(self) -> None:
        """Fill the folder before the first start."""

    @abc.abstractmethod
    def _command(self) -> list[str]: ...

    @abc.abstractmethod
    def _serves(self) -> bool:
        """Whether it answers a real question of its protocol."""

    # What every server has

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def folder(self) -> Path:
        if self._folder is None:
            self._folder = private_folder(self.name.lower(), fast=self.fast)
        self._folder.mkdir(parents=True, exist_ok=True)
        return self._folder

    @property
    def log_path(self) -> Path:
        return self.folder / "server.log"

    @property
    def pid(self) -> int:
        if self._process is None:
            raise ServerFailed(self.name, "is not running")
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> Self:
        """Start it and return when it serves; raises ServerUnavailable or ServerFailed."""
        with self._lock:
            if self.running:
                return self
            prepared = self.folder / ".prepared"
            if not prepared.exists():
                self._prepare()
                prepared.touch()
            command = self._command()
            self._process = launch(command, self.log_path, self.folder, detached=self._kept is not None)
            try:
                self._await_service()
            except BaseException:
                self.kill()
                raise
        return self

    def stop(self, timeout: float = 30.0) -> None:
        """SIGTERM, then SIGKILL when it does not end in time."""
        with self._lock:
            if self._process is None:
                return
            self._send(signal.SIGCONT)
            self._send(signal.SIGTERM)
            try:
                self._process.wait(timeout)
            except subprocess.TimeoutExpired:
                self.kill()

    def kill(self) -> None:
        with self._lock:
            if self._process is not None:
                self._send(signal.SIGKILL)
                self._process.wait()

    def pause(self) -> None:
        """SIGSTOP: it keeps its connections and answers nothing."""
        self._send(signal.SIGSTOP)

    def resume(self) -> None:
        self._send(signal.SIGCONT)

    def restart(self) -> None:
        """Stop when running, then start on the same port and data."""
        self.stop()
        self.start()

    def close(self) -> None:
        """Stop it and remove its data (a `folder` given by the caller stays). What is removed need not be closed in
        order: that takes MySQL three seconds, and Kafka one."""
        if self._kept is not None:
            self.stop()
            return
        self.kill()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{self.name} {self.address} {'running' if self.running else 'stopped'}>"

    def _send(self, number: signal.Signals) -> None:
        if self._process is not None and self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)

    def _await_service(self) -> None:
        deadline = time.monotonic() + self.start_timeout
        while not self._serves():
            if not self.running:
                raise ServerFailed(self.name, "ended while starting", self.log_tail())
            if time.monotonic() > deadline:
                raise ServerFailed(self.name, f"did not serve within {self.start_timeout:.0f} s", self.log_tail())
            time.sleep(0.05)

    def log_tail(self, lines: int = 30) -> str:
        if not self.log_path.exists():
            return ""
        return "\n".join(self.log_path.read_text(errors="replace").splitlines()[-lines:])
