"""A small process with a pid file, for tests of what finds and stops processes.

    python -m tests.support.held_process FILE|- KIND HOST ZOOKEEPER ROOT BEHAVIOUR

BEHAVIOUR at SIGTERM: ends; waits (for a second one, which it survives); breaks (ends by an error). It prints a line
when it is ready, and one at each signal.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from replicator.host.pid_file import held
from replicator.host.process_record import ProcessRecord


class Log:
    def info(self, event: str, **fields: Any) -> None:
        print(event, fields, flush=True)


def main(file: str, kind: str, host: str, zookeeper: str, root: str, behaviour: str) -> int:
    ended = threading.Event()
    record = ProcessRecord.of(kind, zookeeper, root, host=host)
    with held(None if file == "-" else Path(file), record, Log()) as stopping:

        def handle(*_: object) -> None:
            print("signalled", flush=True)
            stopping()
            if behaviour != "waits":
                ended.set()

        signal.signal(signal.SIGTERM, handle)
        print("ready", flush=True)
        while not ended.wait(0.01):
            pass
        if behaviour == "breaks":
            raise RuntimeError("broken")
    return 0


@contextmanager
def held_process(
    file: Path | None,
    kind: str = "core",
    host: str = "host-a",
    zookeeper: str = "zk1:2181",
    root: str = "/bus",
    behaviour: str = "ends",
) -> Iterator[subprocess.Popen[str]]:
    arguments = [str(file or "-"), kind, host, zookeeper, root, behaviour]
    with subprocess.Popen(
        [sys.executable, "-m", "tests.support.held_process", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ.copy(),
    ) as process:
        try:
            assert _output(process).readline() == "ready\n"
            yield process
        finally:
            process.kill()


def _output(process: subprocess.Popen[str]) -> IO[str]:
    assert process.stdout is not None
    return process.stdout


def signals(process: subprocess.Popen[str]) -> int:
    """How many it has received. Kills it."""
    process.kill()
    return _output(process).read().count("signalled")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
