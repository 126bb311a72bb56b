"""docs/faults.md: the matrix, the tests of each row and what came out of them when they last ran."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from dev.faults.matrix import MATRIX
from dev.paths import TREE

TESTS = TREE / "tests" / "failover"
RESULTS = TREE / "docs" / "faults.json"
_TEST = re.compile(r"^def (test_((?:\d\d_)+)\w+)\(", re.MULTILINE)

_HEAD = """# Faults

Made by `make docs` from `dev/faults/matrix.py`, the names of the tests in `tests/failover`, and `docs/faults.json`,
which `python -m dev.faults` brings up to date from the last run; do not edit.

Every test runs real processes and servers under load. At its end a checker compares what a writer committed with what a
consumer saw: nothing lost, repeated, reordered, torn or invented, no lower term after a higher one, and no two workers
that emitted at once, by the role logs that they keep (`dev/checker`).

- `make faults ROUNDS=n SEED=s` repeats such faults at random moments under load. It prints the figures, keeps the raw
  history in `build/faults/seed-*.jsonl.gz` and draws the take-over times (`build/faults/takeover.png`).
- `make soak MINUTES=m SEED=s` does the same for a time. A seed reproduces the schedule of either.
- `make mutants` removes each guard and shows which test notices.

"""


class Result(msgspec.Struct):
    """Of one test, all of its parameters together. `commit` ends in -dirty when the tree had changes."""

    outcome: str
    seconds: float
    date: str
    commit: str
    machine: str


def named_by_row(folder: Path = TESTS) -> dict[int, list[str]]:
    """Names of tests (file::name), by the numbers that they begin with."""
    found: dict[int, list[str]] = {}
    for path in sorted(folder.glob("test_*.py")):
        for name, numbers in _TEST.findall(path.read_text()):
            for number in numbers.strip("_").split("_"):
                found.setdefault(int(number), []).append(f"{path.name}::{name}")
    return found


def results() -> dict[str, Result]:
    return msgspec.json.decode(RESULTS.read_bytes(), type=dict[str, Result]) if RESULTS.exists() else {}


def page() -> str:
    tests, known = named_by_row(), results()
    lines = ["| # | fault | must happen | test | last result |", "|---|---|---|---|---|"]
    for row in MATRIX:
        names = tests.get(row.number, [])
        shown = "<br>".join(f"`{name}`" for name in names) or "none"
        told = "<br>".join(_told(known.get(name)) for name in names)
        lines.append(f"| {row.number} | {row.fault} | {row.must} | {shown} | {told} |")
    machines = sorted({result.machine for result in known.values()})
    return _HEAD + "\n".join(lines) + f"\n\nMachine: {'; '.join(machines) or 'none yet'}.\n"


def _told(result: Result | None) -> str:
    if result is None:
        return "not run yet"
    return f"{result.outcome}, {result.seconds:.0f} s, {result.date} at {result.commit}"
