"""Writes docs/faults.md: figures, guards, and the fault matrix with its tests and their results."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from dev.faults import known
from dev.faults.known import Known, Result
from dev.faults.matrix import MATRIX
from dev.faults.smallest import Run
from dev.mutants.found import Found
from dev.paths import TREE
from dev.soak.figures import percentile, seconds
from dev.soak.outcome import Outcome, shares

TESTS = TREE / "tests" / "failover"
PICTURE = TREE / "docs" / "faults.png"
_TEST = re.compile(r"^def (test_((?:\d{2,3}_)+)\w+)\(", re.MULTILINE)

_HEAD = """# Faults

Made by `make docs` from `dev/faults/matrix.py`, the names of the tests in `tests/failover`, and `docs/faults.json`,
which `python -m dev.faults` brings up to date from the last runs; do not edit.

Every test runs real processes and servers under load. At its end a checker compares what a writer committed with what a
consumer saw: nothing lost, repeated, reordered, torn or invented, no lower term after a higher one, and no two workers
that emitted at once, by the role logs that they keep (`dev/checker`).

- `make faults ROUNDS=n SEED=s` repeats such faults at random moments under load. It prints the figures, keeps the raw
  history in `build/faults/seed-*.jsonl.gz` and draws the take-over times (`build/faults/takeover.png`).
- `make soak MINUTES=m SEED=s` does the same for a time. A seed reproduces the schedule of either.
- `make mutants` removes each guard and shows which test notices.

"""

_SMALLEST = """## Smallest session timeout

`python -m dev.faults.smallest`: a bus for each T, two Cores and a light load, all at once on the same servers, and
nobody does anything to them. A session that ends, ends for want of processor time; where only a lease runs out, the
same leader goes on after an interruption.

"""


def named_by_row(folder: Path = TESTS) -> dict[int, list[str]]:
    """Names of tests (file::name), by the numbers that they begin with."""
    found: dict[int, list[str]] = {}
    for path in sorted(folder.glob("test_*.py")):
        for name, numbers in _TEST.findall(path.read_text()):
            for number in numbers.strip("_").split("_"):
                found.setdefault(int(number), []).append(f"{path.name}::{name}")
    return found


def page(facts: Known | None = None) -> str:
    facts = facts or known.read()
    parts = [_HEAD]
    if facts.soaks:
        parts.append("".join(_nemesis(facts.soaks)))
    if facts.smallest is not None:
        parts.append(_SMALLEST + "".join(_smallest(facts.smallest)))
    if facts.mutants:
        parts.append("".join(_guards(facts.mutants)))
    parts.append("".join(_matrix(facts.tests)))
    return "".join(parts)


def _nemesis(runs: list[Outcome]) -> Iterator[str]:
    yield "## Random faults\n\n"
    best = max(runs, key=lambda run: run.rows)
    if PICTURE.exists():
        yield f"![Take-over times]({PICTURE.name})\n\n"
    yield from _row("run", *(f"`{one.name}`, seed {one.seed}, {one.date}, {one.commit}" for one in runs))
    yield from _row(*["---"] * (len(runs) + 1))
    for title, figure in _FIGURES:
        yield from _row(title, *(figure(run) for run in runs))
    yield f"\nMachine: {best.machine}. Besides the bus it ran its servers, its load and its checker.\n\n"
    yield "Last line:\n\n"
    yield from (f"    {run.last_line()}\n" for run in runs)
    yield from (f"\n{note}\n" for run in runs for note in run.notes)
    kinds = ", ".join(f"{name} ({count})" for name, count in best.kinds.items())
    yield f"\nThe faults of the largest run: {kinds}.\n\n"


_FIGURES: tuple[tuple[str, Callable[[Outcome], str]], ...] = (
    ("faults survived", lambda run: f"{run.rounds} in {run.minutes:.0f} min"),
    ("rows written and seen", lambda run: f"{run.rows:,}"),
    ("lost", lambda run: str(run.lost)),
    ("out of order, or of an older term", lambda run: str(run.reordered)),
    ("repeated (exactly_once)", lambda run: str(run.duplicated)),
    ("repeated (at_least_once, which may)", lambda run: f"{run.repeated:,}"),
    ("two emitted at once", lambda run: f"{run.overlap_ms:.0f} ms"),
    (
        "take-over after SIGKILL",
        lambda run: f"T = {run.session_seconds:g} s: {shares(run.killed)} of {len(run.killed)}",
    ),
    ("planned hand-over", lambda run: f"{shares(run.planned)} of {len(run.planned)}"),
    ("backlogs after silences of 3 s and more", lambda run: _drained(run)),
    ("memory of a Core at most", lambda run: f"{max(run.memory.values(), default=0)} MiB"),
    ("longest outage", lambda run: f"{run.longest_outage:.1f} s"),
    ("failed for", lambda run: "; ".join(run.wrong) or "nothing"),
)


def _drained(run: Outcome) -> str:
    if not run.drained:
        return "none"
    times, speeds = [one.seconds for one in run.drained], [one.speed for one in run.drained]
    return (
        f"{len(times)}, drained within p50 {seconds(percentile(times, 0.5))} s, at most {max(times):.1f} s, "
        f"at {percentile(speeds, 0.5):.1f} times the writer's rate (p50)"
    )


def _smallest(run: Run) -> Iterator[str]:
    yield from _row(
        "T",
        "sessions that ended",
        "changes of the leader",
        "interruptions",
        "lease left at a renewal, at least",
        "held",
    )
    yield from _row(*["---"] * 6)
    for one in run.found:
        left = f"{one.least_s:.2f} of {one.lease_s:.2f} s"
        yield from _row(
            f"{one.t:g} s",
            str(one.sessions),
            str(one.leaders),
            str(one.interrupted),
            left,
            "yes" if one.held else f"**no** {one.wrong}",
        )
    yield (
        f"\n{run.minutes:.0f} minutes on {run.machine}, {run.date} at {run.commit}; load {run.load1[0]:g} on average, "
        f"{run.load1[1]:g} at most.\n\n"
    )
    yield from (f"{note}\n\n" for note in run.notes)


def _guards(found: list[Found]) -> Iterator[str]:
    yield "## Guards and the tests that cover them\n\n"
    yield from _row("guard", "in", "first test that turned red without it")
    yield from _row(*["---"] * 3)
    for one in found:
        yield from _row(one.guard, f"`{one.file}`", f"`{one.killer}`" if one.killer else "**none**")
    yield "\n"


def _matrix(results: dict[str, Result]) -> Iterator[str]:
    tests = named_by_row()
    yield "## Fault matrix\n\n"
    yield from _row("#", "fault", "must happen", "test", "last result")
    yield from _row(*["---"] * 5)
    for row in MATRIX:
        names = tests.get(row.number, [])
        shown = "<br>".join(f"`{name}`" for name in names) or "none"
        told = "<br>".join(_told(results.get(name)) for name in names)
        yield from _row(str(row.number), row.fault, row.must, shown, told)
    machines = sorted({result.machine for result in results.values()})
    yield f"\nMachine: {'; '.join(machines) or 'none yet'}.\n"


def _told(result: Result | None) -> str:
    if result is None:
        return "not run yet"
    return f"{result.outcome}, {result.seconds:.0f} s, {result.date} at {result.commit}"


def _row(*cells: str) -> Iterator[str]:
    yield "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |\n"
