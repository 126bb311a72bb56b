"""Results of a run, as data: for its last lines, and for docs/faults.md."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from dev.soak.figures import Backlog, percentile, seconds


class Outcome(msgspec.Struct, kw_only=True):
    """Times in seconds.

    Attributes:
        name: "soak" or "faults".
        rounds: faults that were survived; `kinds`: how often each, by name.
        rows: changes that were committed and seen.
        duplicated: with exactly_once; `repeated`: with at_least_once, which may.
        killed, planned: take-over times after a SIGKILL of the leader, and after a SIGTERM or a switchover.
        drained: of the exactly_once task.
        memory: of each Core, MiB at most.
        wrong: everything that the run failed for.
        notes: what whoever reads the figures should know besides.
    """

    name: str
    seed: int
    session_seconds: float
    minutes: float
    rounds: int
    kinds: dict[str, int]
    rows: int
    lost: int
    reordered: int
    duplicated: int
    repeated: int
    overlap_ms: float
    killed: list[float]
    planned: list[float]
    longest_outage: float
    drained: list[Backlog]
    memory: dict[str, int]
    wrong: list[str]
    notes: list[str] = []
    date: str = ""
    commit: str = ""
    machine: str = ""

    def lines(self) -> Iterator[str]:
        """Everything but the last line."""
        yield f"longest outage {self.longest_outage:.1f} s"
        yield f"planned hand-over {shares(self.planned)}"
        yield f"at_least_once sent {self.repeated} records again"
        if self.drained:
            times, speeds = [one.seconds for one in self.drained], [one.speed for one in self.drained]
            yield (
                f"lag recovery of {len(self.drained)} backlogs (exactly_once): p50 {seconds(percentile(times, 0.5))} s "
                f"longest {seconds(max(times))} s, at p50 {seconds(percentile(speeds, 0.5))} x, "
                f"at least {seconds(min(speeds))} x the live rate"
            )

    def last_line(self) -> str:
        return (
            f"{self.name}: rounds {self.rounds}, rows {self.rows}, lost {self.lost}, reordered {self.reordered}, "
            f"duplicated {self.duplicated}, overlap {self.overlap_ms:.0f} ms, take-over {shares(self.killed)}"
        )


def shares(times: list[float]) -> str:
    return f"p50 {seconds(percentile(times, 0.5))} s p99 {seconds(percentile(times, 0.99))} s"
