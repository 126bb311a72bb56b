"""Our own processes as a user starts them: Cores, a Server, a Monitor and the CLI, over servers that run already.

Used by the demo and by the failover tests. Every process is the console script in a process of its own, so that it can
be killed, stopped and continued by pid.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx

from core import role_log
from dev import warm
from dev.errors import ServerFailed
from dev.plain_http import PLAIN
from dev.servers.launch import launch
from dev.servers.ports import free_port
from replicator.coordination.layout import DEFAULT_ROOT

CLI = Path(sys.executable).with_name("replicator")
_AT_START = ("PYTHON", "LD_")


class Process:
    """One of our processes. Its log survives a restart (it is appended to)."""

    def __init__(
        self,
        name: str,
        arguments: list[str],
        folder: Path,
        *,
        prefix: list[str] | None = None,
        environment: dict[str, str] | None = None,
    ) -> None:
        """prefix: of the command, to run it in a network of its own, say; environment: besides ours."""
        self.name = name
        self._prefix, self._command = prefix or [], [str(CLI), *arguments]
        # Pid files belong to the folder, unless the caller has chosen another directory.
        state = {} if "XDG_STATE_HOME" in os.environ else {"XDG_STATE_HOME": str(folder / "state")}
        self._environment = {**state, **(environment or {})}
        self._folder = folder
        self.log_path = folder / f"{name}.log"
        self._process: subprocess.Popen[bytes] | warm.WarmProcess | None = None

    def start(self) -> Process:
        if warm.enabled() and not self._needs_an_interpreter():
            with self.log_path.open("ab") as log:
                environment = {**os.environ, **self._environment}
                self._process = warm.start(
                    self._command, cwd=self._folder, environment=environment, stdout=log, stderr=log
                )
        else:
            command = [*self._prefix, *self._command]
            self._process = launch(command, self.log_path, self._folder, environment=self._environment)
        return self

    def _needs_an_interpreter(self) -> bool:
        """What is read when an interpreter starts has no effect on one that runs."""
        return bool(self._prefix) or any(name.startswith(_AT_START) for name in self._environment)

    @property
    def pid(self) -> int:
        if self._process is None:
            raise ServerFailed(self.name, "was not started")
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        """SIGKILL, to this process alone: what it leaves behind must end by itself."""
        self._signal(signal.SIGKILL)
        self.wait(10)

    def pause(self) -> None:
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def terminate(self, timeout: float = 30.0) -> int:
        """SIGTERM and wait. Returns the exit status; SIGKILL and ServerFailed when it does not end in time."""
        self.ask_to_end()
        return self.ended(timeout)

    def ask_to_end(self) -> None:
        self._signal(signal.SIGCONT)
        self._signal(signal.SIGTERM)

    def ended(self, timeout: float) -> int:
        """Waits for the end of a process that was asked for it; as `terminate`."""
        try:
            return self.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise ServerFailed(self.name, f"did not end within {timeout} s of SIGTERM", self.tail()) from None

    def wait(self, timeout: float) -> int:
        assert self._process is not None
        return self._process.wait(timeout)

    def close(self) -> None:
        if self.running:
            with contextlib.suppress(ServerFailed):
                self.terminate(15)

    def tail(self, lines: int = 30) -> str:
        with contextlib.suppress(OSError):
            return "\n".join(self.log_path.read_text(errors="replace").splitlines()[-lines:])
        return ""

    def _signal(self, number: int) -> None:
        if self.running:
            assert self._process is not None
            self._process.send_signal(number)


class Cluster:
    """Cores, Server and Monitor of one ZooKeeper.

    Args:
        zookeeper: `host:port[,...]`.
        folder: for logs, token and task files; it must exist.
        session_timeout: asked for by the Cores, seconds.
        root: of our znodes; tests that share a ZooKeeper take one each.
        logins: environment of "core", "server" and "monitor": how each of them connects to ZooKeeper; its TLS files.
        ca: of Server and Monitor, which listen with HTTPS by what `logins` gives them.
    """

    def __init__(
        self,
        zookeeper: str,
        folder: Path,
        *,
        session_timeout: float = 4.0,
        root: str = DEFAULT_ROOT,
        logins: Mapping[str, dict[str, str]] | None = None,
        ca: Path | None = None,
    ) -> None:
        self._logins = logins or {}
        self.zookeeper = zookeeper
        self.folder = folder
        self._session_timeout = session_timeout
        self.root = root
        self.role_folder = folder / "roles"
        """Where the Cores' workers keep their role logs."""
        self.role_folder.mkdir(exist_ok=True)
        self._token_file = folder / "server.token"
        self._trust: dict[str, str] = {"REPLICATOR_CA_FILE": str(ca)} if ca else {}
        self._verify = ssl.create_default_context(cafile=str(ca)) if ca else PLAIN
        scheme = "https" if ca else "http"
        self.server_url = f"{scheme}://127.0.0.1:{free_port()}"
        self.monitor_url = f"{scheme}://127.0.0.1:{free_port()}"
        self.cores: dict[str, Process] = {}
        self.server: Process | None = None
        self.monitor: Process | None = None
        self._starting = threading.Lock()  # callers of `cli` may be threads: one Server serves them all

    def core(
        self,
        host: str,
        *arguments: str,
        zookeeper: str | None = None,
        prefix: list[str] | None = None,
        environment: dict[str, str] | None = None,
    ) -> Process:
        """Starts a Core. A second call with the same name starts another one after the first has ended."""
        where = ["--zookeeper", zookeeper or self.zookeeper, "--root", self.root]
        timeout = ["--session-timeout", str(self._session_timeout)]
        process = Process(
            host,
            ["core", "--host", host, *where, *timeout, *arguments],
            self.folder,
            prefix=prefix,
            environment={
                role_log.VARIABLE: str(self.role_folder),
                **self._logins.get("core", {}),
                **(environment or {}),
            },
        )
        self.cores[host] = process.start()
        return process

    def start_server(self) -> Process:
        listen = self.server_url.partition("://")[2]
        arguments = ["server", "--zookeeper", self.zookeeper, "--root", self.root, "--listen", listen]
        arguments += ["--token-file", str(self._token_file)]
        self.server = Process("server", arguments, self.folder, environment=self._logins.get("server")).start()
        self._await_http(f"{self.server_url}/api/v1/health", self.server)
        return self.server

    def start_monitor(self) -> Process:
        listen = self.monitor_url.partition("://")[2]
        arguments = ["monitor", "--zookeeper", self.zookeeper, "--root", self.root, "--listen", listen]
        arguments += ["--history", str(self.folder / "monitor.sqlite")]
        self.monitor = Process("monitor", arguments, self.folder, environment=self._logins.get("monitor")).start()
        self._await_http(f"{self.monitor_url}/healthz", self.monitor)
        return self.monitor

    def cli(self, *arguments: str, check: bool = True) -> str:
        """Runs `replicator ...` as a user does, with the Server started when there was none yet; returns its stdout.
        Raises ServerFailed on a bad exit status."""
        self._need_server()
        status, out, err = self.failing(*arguments)
        if check and status:
            said = err.strip() or out.strip()
            raise ServerFailed(f"replicator {' '.join(arguments)}", f"exit status {status}: {said}")
        return out

    def failing(self, *arguments: str, given: str = "") -> tuple[int, str, str]:
        """Runs `replicator ...` against a Server that was started: exit status, stdout, stderr. given: on stdin."""
        self._need_server()
        ours = {"REPLICATOR_SERVER": self.server_url, "REPLICATOR_TOKEN": self.token}
        environment = {**os.environ, **ours, **self._trust}
        command = [str(CLI), *arguments]
        if warm.enabled():
            done = warm.run(command, environment=environment, given=given)
        else:
            done = subprocess.run(
                command, env=environment, capture_output=True, input=given, text=True, timeout=120, check=False
            )
        return done.returncode, done.stdout, done.stderr

    @property
    def token(self) -> str:
        return self._token_file.read_text().strip()

    def tasks(self) -> list[dict[str, Any]]:
        """`GET /tasks`."""
        self._need_server()
        login = {"Authorization": f"Bearer {self.token}"}
        answer = httpx.get(f"{self.server_url}/api/v1/tasks", headers=login, timeout=10, verify=self._verify)
        answer.raise_for_status()
        body = answer.json()
        return list(body["items"] if isinstance(body, dict) else body)

    def apply(self, task: dict[str, Any]) -> None:
        path = self.folder / f"{task['name']}.json"
        path.write_text(json.dumps(task, indent=2))
        self.cli("task", "apply", "-f", str(path))

    def close(self) -> None:
        """All at once: no standby takes over what another Core leaves."""
        processes = [process for process in (*self.cores.values(), self.server, self.monitor) if process is not None]
        running = [process for process in processes if process.running]
        for process in running:
            process.ask_to_end()
        for process in running:
            with contextlib.suppress(ServerFailed):
                process.ended(15)

    def _need_server(self) -> None:
        with self._starting:
            if self.server is None:
                self.start_server()

    def _await_http(self, url: str, process: Process, timeout: float = 30.0) -> None:
        def answers() -> bool:
            if not process.running:
                raise ServerFailed(process.name, "ended while starting", process.tail())
            try:
                return httpx.get(url, timeout=2, verify=self._verify).status_code < 500
            except httpx.HTTPError:
                return False

        wait_for(answers, f"{process.name} to answer on {url}", timeout)


def wait_for(condition: Callable[[], Any], what: str | Callable[[], str], timeout: float, every: float = 0.05) -> Any:
    """Polls until `condition` gives something true; returns that. Raises ServerFailed after `timeout` seconds.

    `what` is called at that moment if it can be: the logs of processes say what went wrong only by then.
    """
    end = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise ServerFailed("waiting", f"{timeout} s are over: {what() if callable(what) else what}")
        time.sleep(every)
