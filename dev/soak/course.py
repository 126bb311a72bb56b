"""Observations of one task during a run, checked and archived at once, so that a long run fits into memory."""

from __future__ import annotations

import contextlib
import threading
import time
from array import array
from typing import Any

import msgspec

from dev.checker.consumer import latest_rows, seen
from dev.checker.spool import Spool
from dev.checker.verdict import Case, Verdict, compare, rebuilt
from dev.checker.watch import Watch
from dev.cluster import wait_for
from dev.errors import ServerFailed
from dev.job import Job
from dev.soak.archive import Archive
from dev.soak.figures import Terms


class Course:
    """Args: journal: of the job's writer."""

    def __init__(self, job: Job, journal: Spool, archive: Archive) -> None:
        self.job, self._journal, self._archive = job, journal, archive
        self.terms = Terms()
        self.stamps = array("q")
        """When each change was made a record, ms, in the order in which they came."""
        self.came = array("q")
        """When each was visible to us, ms."""
        self._case = Case()
        self._last: dict[bytes, Any] = {}
        self._lock = threading.Lock()
        self._watch = Watch(job.kafka.address, f"{job.topics}hot_item", self._see)

    def start(self) -> None:
        self._watch.start()

    @property
    def arrived(self) -> int:
        """Changes so far, repeated ones too."""
        return len(self.stamps)

    def wait_more(self, more: int, timeout: float) -> None:
        """Until `more` changes than now have been seen. Raises ServerFailed."""
        before = self.arrived
        wait_for(lambda: self.arrived >= before + more, f"{more} more records of {self.job.name}", timeout)

    def verdict(self, timeout: float, checkpoints: list[tuple[str, int] | None]) -> Verdict:
        """Stops the writer, waits for the rest to arrive, and judges the history and the rebuilt table."""
        journal = self.job.writer.stop()
        with self._lock:
            self._case.expect(journal)
        with contextlib.suppress(ServerFailed):  # the verdict names what is missing
            wait_for(lambda: not self._missing(), "everything to arrive", timeout, every=0.5)
            self.wait_more(1, 2.0)  # nothing more comes, or it is a repetition
        self._watch.close()
        verdict = self._case.close(journal, roles=self.job.roles(), checkpoints=checkpoints)
        verdict.differing = compare(self.job.writer.rows(), rebuilt(latest_rows(self._last.values())))
        return verdict

    def archive(self) -> None:
        """What was written, and when each worker emitted; what was seen stands in the archive already."""
        for transaction in self._journal:
            self._archive.add("transaction", {"task": self.job.name, **msgspec.structs.asdict(transaction)})
        for role in self.job.roles():
            self._archive.add("role", {"task": self.job.name, **msgspec.structs.asdict(role)})

    def written(self) -> list[tuple[int, int]]:
        """(ms of the commit, changes) of each transaction."""
        return [(int(one.committed_at * 1000), len(one.changes)) for one in self._journal]

    def close(self) -> None:
        with contextlib.suppress(Exception):  # what went wrong has been told
            self._watch.close()
        self._journal.close()

    def _missing(self) -> int:
        with self._lock:
            return self._case.missing()

    def _see(self, records: list[Any]) -> None:
        for record in records:
            self._last[record.key] = record
        changes, now = seen(records), time.time_ns() // 1_000_000
        with self._lock:
            for change in changes:
                self._case.see(change)
        for change in changes:
            self.terms.see(change)
            self.stamps.append(change.time_ms)
            self.came.append(now)
            self._archive.add("seen", {"task": self.job.name, **msgspec.structs.asdict(change)})
