"""`python -m dev.warm.server NAME`: forks a process for each connection, until its parent ends.

A connection carries a request and the three standard streams, and is answered with the process id and, at its end, the
exit status. The loop has no threads: a process that is forked beside one may meet its locks.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import os
import runpy
import selectors
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Final

import msgspec

from core.parent_death import end_with_the_template
from dev.warm.protocol import ANSWER, MOST_BYTES, Request, address
from replicator.assembly import preload
from replicator.cli.main import LAZY

MODULES: Final = (
    *(module for _, module in LAZY.values()),
    "core.process",
    "server.process",
    "monitor.process",
    "monitor.alerts.alerting",
    "monitor.history.kept",
    *preload.MODULES,
)


def serve(listener: socket.socket) -> tuple[Request, list[int]]:
    """Returns in each child: its request and its standard streams."""
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in selector.select():
            if key.data is None:
                connection, _ = listener.accept()
                data, streams, _, _ = socket.recv_fds(connection, MOST_BYTES, 3)
                pid = os.fork()
                if pid == 0:
                    selector.close()
                    listener.close()
                    connection.close()
                    return msgspec.json.decode(data, type=Request), streams
                for stream in streams:
                    os.close(stream)
                selector.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, connection))
                _answer(connection, pid)
            else:
                pid, connection = key.data
                _, status = os.waitpid(pid, 0)
                selector.unregister(key.fd)
                os.close(key.fd)
                _answer(connection, os.waitstatus_to_exitcode(status))
                connection.close()


def _answer(connection: socket.socket, number: int) -> None:
    with contextlib.suppress(OSError):  # nobody waits for it
        connection.send(ANSWER.pack(number))


def become(request: Request, streams: list[int]) -> None:
    """Takes over what a new process would have been given."""
    os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    end_with_the_template()
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    tempfile.tempdir = None
    sys.argv = request["command"]
    unbuffered = bool(os.environ.get("PYTHONUNBUFFERED"))
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)), encoding="utf-8")
    sys.stdout = _writer(1, "strict", unbuffered)
    sys.stderr = _writer(2, "backslashreplace", unbuffered)


def _writer(number: int, errors: str, unbuffered: bool) -> io.TextIOWrapper:
    return io.TextIOWrapper(
        io.BufferedWriter(io.FileIO(number, "wb", closefd=False)),
        encoding="utf-8",
        errors=errors,
        line_buffering=number == 2 or os.isatty(number),
        write_through=unbuffered,
    )


def main() -> None:
    for module in MODULES:
        importlib.import_module(module)
    if threading.active_count() > 1:
        raise SystemExit(f"an import has started threads: {threading.enumerate()}")
    gc.collect()
    gc.freeze()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(address(sys.argv[1]))
    listener.listen(64)
    request, streams = serve(listener)
    become(request, streams)
    script = Path(sys.argv[0])
    runpy.run_path(str(script), run_name="__main__")


if __name__ == "__main__":
    main()
