"""Measures the cost of reading the same bytes without processing them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from dev.bench.job import Job
from dev.bench.ours import task
from dev.fetch import databases
from dev.fetch.releases import MYSQL
from dev.paths import private_folder
from replicator.assembly.pipeline import build_source
from replicator.config.load import parse_task
from replicator.model.position import Position


def run(job: Job) -> int:
    """Writes the file to where the servers' data lies, so that no disk is measured."""
    folder = private_folder("bench", fast=True)
    try:
        (_mysqlbinlog if job.path == "mysqlbinlog" else _socket)(job, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return job.rows


def mysqlbinlog_runs() -> bool:
    """MySQL's own client reads MySQL's logs alone."""
    return (databases.prefix(MYSQL).root / "usr/bin/mysqlbinlog").exists()


def _mysqlbinlog(job: Job, folder: Path) -> None:
    """`mysqlbinlog --read-from-remote-server --raw`: the whole file, which the segment fills."""
    command = [
        *databases.prefix(MYSQL).command("usr/bin/mysqlbinlog"),
        "--no-defaults",
        "--read-from-remote-server",
        "--raw",
        f"--host={job.host}",
        f"--port={job.port}",
        "--protocol=tcp",
        f"--user={job.user}",
        f"--password={job.password}",
        "--get-server-public-key",
        "--connection-server-id=7002",
        f"--result-file={folder}/",
        job.file,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode:
        raise RuntimeError(f"mysqlbinlog: {done.stderr.strip()}")
    read = (folder / job.file).stat().st_size
    if read < job.end:
        raise RuntimeError(f"mysqlbinlog read {read} bytes of {job.file}, {job.end} wanted")


def _socket(job: Job, folder: Path) -> None:
    """Our own reader of the protocol, into a file and no further. For servers that mysqlbinlog refuses."""
    os.environ["REPL_BENCH_PASSWORD"] = job.password
    stream = build_source(parse_task(task(job))).open(Position(job.file, job.start))
    left = job.end - job.start
    try:
        with (folder / job.file).open("wb") as file:
            while left > 0:
                data = stream.read(1.0)
                left -= len(data)
                file.write(data)
    finally:
        stream.close()
