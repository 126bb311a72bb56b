"""One measured run: which path, over which segment, into which topic. Each runs in a process of its own, so that memory
is its own and no run warms up another."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec


class Job(msgspec.Struct, frozen=True):
    """`limit`: stop after this many rows of the segment (0: all). `flavor`: "mysql" or "mariadb"."""

    path: str
    flavor: str
    host: str
    port: int
    user: str
    password: str
    bootstrap: str
    name: str
    file: str
    start: int
    end: int
    rows: int
    limit: int = 0


class Outcome(msgspec.Struct, frozen=True):
    """seconds: from the first call to the last acknowledgement, connecting included; peak_mb: of the process."""

    rows: int
    seconds: float
    peak_mb: float

    @property
    def rate(self) -> float:
        return self.rows / self.seconds


def measure(job: Job) -> Outcome:
    """Runs the job in a new process. Raises RuntimeError with its words when it fails."""
    command = [sys.executable, "-m", "dev.bench.job"]
    done = subprocess.run(command, input=msgspec.json.encode(job), capture_output=True, timeout=900, check=False)
    if done.returncode:
        raise RuntimeError(f"{job.path} over {job.name} failed:\n{done.stderr.decode(errors='replace')[-3000:]}")
    return msgspec.json.decode(done.stdout.splitlines()[-1], type=Outcome)


def peak_mb() -> float:
    """Most resident memory this process has had. VmHWM, because ru_maxrss remembers the program before exec."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise RuntimeError("no VmHWM in /proc/self/status")


def main() -> None:
    job = msgspec.json.decode(sys.stdin.buffer.read(), type=Job)
    run: Any
    if job.path == "ours":
        from dev.bench.ours import run
    else:
        from dev.bench.plain import run
    began = time.monotonic()
    rows = run(job)
    outcome = Outcome(rows, time.monotonic() - began, peak_mb())
    print(json.dumps(msgspec.to_builtins(outcome)))


if __name__ == "__main__":
    main()
