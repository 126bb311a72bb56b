"""Start a child that dies with this process.

PR_SET_PDEATHSIG (here through util-linux's setpriv, which execs the program and so keeps its pid) fires when the
*thread* that forked the child ends. So one thread, which lives as long as the process, forks all of them.
"""

from __future__ import annotations

import os
import queue
import shutil
import subprocess
import threading
from concurrent.futures import Future
from pathlib import Path

_Job = tuple[list[str], Path, Path, "dict[str, str] | None", "Future[subprocess.Popen[bytes]]"]
_jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
_lock = threading.Lock()
_thread: threading.Thread | None = None


def launch(
    command: list[str], log: Path, cwd: Path, *, detached: bool = False, environment: dict[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start `command` in a session of its own (the terminal's Ctrl-C does not reach it), its output into `log`.
    `environment`: besides ours."""
    if detached:
        return _spawn(command, log, cwd, environment)
    setpriv = shutil.which("setpriv")
    if setpriv:
        command = [setpriv, "--pdeathsig", "KILL", "--", *command]
    done: Future[subprocess.Popen[bytes]] = Future()
    _ensure_thread()
    _jobs.put((command, log, cwd, environment, done))
    return done.result()


def _spawn(command: list[str], log: Path, cwd: Path, environment: dict[str, str] | None) -> subprocess.Popen[bytes]:
    whole = {**os.environ, **environment} if environment else None
    with log.open("ab") as output:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=cwd, env=whole, start_new_session=True
        )


def _ensure_thread() -> None:
    global _thread
    with _lock:
        if _thread is None or not _thread.is_alive():
            _thread = threading.Thread(target=_serve, name="dev-launch", daemon=True)
            _thread.start()


def _serve() -> None:
    while True:
        command, log, cwd, environment, done = _jobs.get()
        try:
            done.set_result(_spawn(command, log, cwd, environment))
        except BaseException as error:
            done.set_exception(error)
