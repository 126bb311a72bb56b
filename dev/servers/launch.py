"""Start a child that dies with this process.

PR_SET_PDEATHSIG (here through util-linux's setpriv, which execs the program and so keeps its pid) fires when the
*thread* that forked the child ends. So one thread, which lives as long as the process, forks all of them.
"""

from __future__ import annotations

import queue
import shutil
import subprocess
import threading
from concurrent.futures import Future
from pathlib import Path

_Job = tuple[list[str], Path, Path, "Future[subprocess.Popen[bytes]]"]
_jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
_lock = threading.Lock()
_thread: threading.Thread | None = None


def launch(command: list[str], log: Path, cwd: Path, *, detached: bool = False) -> subprocess.Popen[bytes]:
    """Start `command` in a session of its own (the terminal's Ctrl-C does not reach it), its output into `log`."""
    if detached:
        return _spawn(command, log, cwd)
    setpriv = shutil.which("setpriv")
    if setpriv:
        command = [setpriv, "--pdeathsig", "KILL", "--", *command]
    done: Future[subprocess.Popen[bytes]] = Future()
    _ensure_thread()
    _jobs.put((command, log, cwd, done))
    return done.result()


def _spawn(command: list[str], log: Path, cwd: Path) -> subprocess.Popen[bytes]:
    with log.open("ab") as output:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=cwd, start_new_session=True
        )


def _ensure_thread() -> None:
    global _thread
    with _lock:
        if _thread is None or not _thread.is_alive():
            _thread = threading.Thread(target=_serve, name="dev-launch", daemon=True)
            _thread.start()


def _serve() -> None:
    while True:
        command, log, cwd, done = _jobs.get()
        try:
            done.set_result(_spawn(command, log, cwd))
        except BaseException as error:
            done.set_exception(error)
