"""Runs `replicator run --snapshot-only` as a user would, and measures the whole process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dev.bench.job import Job, Outcome, high_water_mb
from dev.bench.snapshot_job import task

_SECONDS = 600


def run_command(job: Job) -> Outcome:
    """From the start of the process to its end, the start of Python included. Raises RuntimeError with its words."""
    with tempfile.TemporaryDirectory(prefix="mysql-replicator-bench-") as name:
        folder = Path(name)
        (folder / "task.json").write_text(json.dumps(task(job)))
        command = [str(Path(sys.executable).parent / "replicator"), "run", "--snapshot-only"]
        command += ["-f", str(folder / "task.json"), "--state", str(folder / "state.sqlite")]
        environment = {**os.environ, "REPL_BENCH_PASSWORD": job.password}
        with (folder / "log").open("w") as log:
            began = time.monotonic()
            process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
            peak, status, cpu_s = _watch(process, began)
            seconds = time.monotonic() - began
        if status:
            raise RuntimeError(f"replicator run: {(folder / 'log').read_text()[-2000:]}")
    return Outcome(job.rows, seconds, peak, cpu_s)


def _watch(process: subprocess.Popen[bytes], began: float) -> tuple[float, int, float]:
    """Until the process ends: (highest resident memory in MB, exit status, CPU seconds)."""
    peak = 0.0
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return peak, process.returncode, usage.ru_utime + usage.ru_stime
        if time.monotonic() - began > _SECONDS:
            process.kill()
        peak = max(peak, high_water_mb(process.pid))
        time.sleep(0.05)
