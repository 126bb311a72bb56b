"""`python -m dev.coverage`: measures which lines and branches the unit tests reach, and prints a table by package.

Rooms that talk to servers (zookeeper, source, sink, core) are tested by the suites with real servers, which this does
not count: their processes are many, and tracing them would change their timing.
"""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from collections import defaultdict
from typing import Any, NamedTuple

from dev.paths import TREE

REPORT = TREE / "build" / "coverage.json"


class Reached(NamedTuple):
    """Lines and branches: reached, of all."""

    lines: int = 0
    all_lines: int = 0
    branches: int = 0
    all_branches: int = 0

    def plus(self, other: Reached) -> Reached:
        return Reached(*(mine + more for mine, more in zip(self, other, strict=True)))


def main() -> int:
    command = [sys.executable, "-m", "pytest", "-q", "--numprocesses=2", "tests/unit"]
    measured = ["--cov", f"--cov-report=json:{REPORT}"]
    status = subprocess.run([*command, *measured], cwd=TREE, stdin=subprocess.DEVNULL, check=False).returncode
    if status == 0:
        print("\n".join(table(json.loads(REPORT.read_text()))))
    return status


def table(report: dict[str, Any]) -> list[str]:
    """Lines of text from a report in the JSON format of coverage.py: one for each package, and their sum."""
    rooms: dict[str, Reached] = defaultdict(Reached)
    for file, found in report["files"].items():
        counts = found["summary"]
        rooms[room(file)] = rooms[room(file)].plus(
            Reached(
                counts["covered_lines"], counts["num_statements"], counts["covered_branches"], counts["num_branches"]
            )
        )
    whole = functools.reduce(Reached.plus, rooms.values(), Reached())
    lines = [f"{'package':<26}{'lines':>16}{'branches':>16}"]
    return lines + [_line(name, rooms[name]) for name in sorted(rooms)] + [_line("all", whole)]


def room(file: str) -> str:
    """The package that a file counts for: `replicator/sink`, `core`."""
    parts = file.split("/")
    return "/".join(parts[:2]) if parts[0] == "replicator" and len(parts) > 2 else parts[0]


def _line(name: str, found: Reached) -> str:
    lines = _share(found.lines, found.all_lines)
    branches = _share(found.branches, found.all_branches)
    return f"{name:<26}{lines:>16}{branches:>16}"


def _share(reached: int, total: int) -> str:
    return f"{100 * reached / total:.1f} %" if total else "-"


if __name__ == "__main__":
    sys.exit(main())
