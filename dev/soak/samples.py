"""Values sampled during and after a run: checkpoints, memory, threads, open files, processes left behind."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path

from dev.cluster import Cluster, Process
from dev.job import Job


class Samples:
    """A thread that reads every task's lastCommit and the Cores' use of memory, threads and files all along."""

    def __init__(self, jobs: list[Job], cluster: Cluster, every: float = 0.5) -> None:
        self._jobs, self._cluster, self._every = jobs, cluster, every
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="samples", daemon=True)
        self.checkpoints: dict[str, list[tuple[str, int] | None]] = {job.name: [] for job in jobs}
        """In the order seen; None where the task was deleted and made again."""
        self._uids: dict[str, str] = {}
        self.most: dict[str, tuple[int, int, int]] = {}

    def start(self) -> Samples:
        self._thread.start()
        return self

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(30)

    def _run(self) -> None:
        while not self._stop.wait(self._every):
            for job in self._jobs:
                with contextlib.suppress(Exception):  # ZooKeeper is away: that is what this is about
                    record = job.look().last_commit
                    if record is not None and record.checkpoint is not None:
                        position = record.checkpoint.position
                        if self._uids.setdefault(job.name, record.uid) != record.uid:
                            self._uids[job.name] = record.uid
                            self.checkpoints[job.name].append(None)
                        self.checkpoints[job.name].append((position.file, position.offset))
            for core in self._cluster.cores.values():
                with contextlib.suppress(OSError, LookupError, ValueError):  # it has just ended
                    now = usage(core.pid)
                    most = self.most.get(core.name, now)
                    self.most[core.name] = max(now[0], most[0]), max(now[1], most[1]), max(now[2], most[2])


def usage(pid: int) -> tuple[int, int, int]:
    """MiB of resident memory, threads, open files of a process."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line)
    return (
        int(status["VmRSS"].split()[0]) // 1024,
        int(status["Threads"]),
        sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir()),
    )


def left_behind(everyone: list[Process]) -> list[str]:
    """Processes of the sessions of Cores that have ended: each Core is the leader of its own (see `launch`)."""
    sessions = {core.pid for core in everyone if not core.running}
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if entry.name.isdigit() and int(fields[3]) in sessions and fields[0] != "Z":
                found.append(f"{entry.name} ({(entry / 'cmdline').read_text().replace(chr(0), ' ')[:80]})")
    return found
