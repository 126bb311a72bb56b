"""One measured run: which path, over which segment, into which topic. Each runs in a process of its own, so that memory
and CPU time are its own and no run warms up another."""

from __future__ import annotations

import gc
import importlib
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import msgspec

PATHS = {
    "ours": "dev.bench.ours",
    "twin": "dev.bench.ours",  # the decoder in Python
    "guarded": "dev.bench.guarded",  # with the lease, the checkpoints and the metrics of a Core's worker
    "nowhere": "dev.bench.ours",  # rendered, and then dropped
    "snapshot": "dev.bench.snapshot_job",  # the rows that the table has
    "apply": "dev.bench.apply_job",  # into a second server
    "fill": "dev.bench.fill_job",  # a snapshot into an empty table of a second server
    "plain": "dev.bench.plain",
    "socket": "dev.bench.ceiling",
    "mysqlbinlog": "dev.bench.ceiling",
}


class Job(msgspec.Struct, frozen=True):
    """path: one of PATHS. flavor: "mysql" or "mariadb". The `rows` rows from `start` to `end` of `file` go to
    the topic `name`. Other revisions read it and answer with an `Outcome` (`versus.py`): fields are only added, with a
    default. connections: to the target; with more than one, rows keep the order of their key. applied: to the target,
    "binlog", "insert" or "load": the last two by SQL, with LOAD DATA or without it. compression "none" is not said to
    the task, so that revisions without that option run, too."""

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
    format: str = "debezium"
    delivery: str = "exactly_once"
    compression: str = "none"
    connections: int = 1
    applied: str = "binlog"


class Outcome(msgspec.Struct, frozen=True):
    """seconds: from the first call to the last acknowledgement, connecting included; cpu_s: user and system time of
    the process meanwhile; peak_mb: its resident memory at the most; sent: bytes of the topic's log afterwards;
    guards_s: of cpu_s, what lease, checkpoints and metrics took, where the path counts it; steady: (rows, seconds, CPU
    seconds) from the first tenth of the rows to the end, where the path notes it."""

    rows: int
    seconds: float
    peak_mb: float
    cpu_s: float = 0.0
    sent: int = 0
    guards_s: float = 0.0
    steady: tuple[int, float, float] | None = None

    @property
    def rate(self) -> float:
        return self.rows / self.seconds

    @property
    def cpu_us(self) -> float:
        """Microseconds of CPU per row."""
        return self.cpu_s / self.rows * 1e6

    def without_start(self) -> Outcome:
        """All of it where one commit brought all rows."""
        rows, seconds, cpu_s = self.steady or (0, 0.0, 0.0)
        if not rows:
            return self
        return msgspec.structs.replace(self, rows=rows, seconds=seconds, cpu_s=cpu_s)


def measure(job: Job, *, tree: Path | None = None, prefix: tuple[str, ...] = ()) -> Outcome:
    """Runs the job in a new process. Raises RuntimeError with its words when it fails.

    tree: where the packages are imported from; None: as here. prefix: a profiler's command.
    """
    command = [*prefix, sys.executable, "-m", "dev.bench.job"]
    environment = {**os.environ, "REPLICATOR_COMPILED": "0"} if job.path == "twin" else None
    done = subprocess.run(
        command,
        input=msgspec.json.encode(job),
        capture_output=True,
        timeout=900,
        check=False,
        cwd=tree,
        env=environment,
    )
    if done.returncode:
        raise RuntimeError(f"{job.path} over {job.name} failed:\n{done.stderr.decode(errors='replace')[-3000:]}")
    lines = [line for line in done.stdout.splitlines() if line.startswith(b"{")]
    return msgspec.json.decode(lines[-1], type=Outcome)


def peak_mb() -> float:
    """Most resident memory this process has had. VmHWM, because ru_maxrss remembers the program before exec."""
    found = high_water_mb("self")
    if not found:
        raise RuntimeError("no VmHWM in /proc/self/status")
    return found


def high_water_mb(pid: int | str) -> float:
    """Of another process; 0.0 when it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except FileNotFoundError:
        return 0.0
    return next((int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith("VmHWM:")), 0.0)


def cpu_seconds() -> float:
    """Of this process and of the children that it has waited for."""
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def main() -> None:
    job = msgspec.json.decode(sys.stdin.buffer.read(), type=Job)
    path = importlib.import_module(PATHS[job.path])
    if hasattr(path, "prepare"):
        path.prepare()
    gc.freeze()  # as a Core does before it forks its workers; modules are not collected anew all the time
    began, used = time.monotonic(), cpu_seconds()
    rows = path.run(job)
    outcome = Outcome(rows, time.monotonic() - began, peak_mb(), cpu_seconds() - used)
    if hasattr(path, "guards_s"):
        outcome = msgspec.structs.replace(outcome, guards_s=path.guards_s())
    if hasattr(path, "steady"):
        outcome = msgspec.structs.replace(outcome, steady=path.steady())
    print(msgspec.json.encode(outcome).decode(), flush=True)


if __name__ == "__main__":
    main()
