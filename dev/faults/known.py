"""docs/faults.json: results of fault tests and the runs that they are from. The page is made from it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from dev.faults.smallest import Run
from dev.mutants.found import Found
from dev.paths import TREE
from dev.soak.outcome import Outcome

KNOWN = TREE / "docs" / "faults.json"


class Result(msgspec.Struct):
    """Of one test, all of its parameters together. `commit` ends in -dirty when the tree had changes."""

    outcome: str
    seconds: float
    date: str
    commit: str
    machine: str


class Known(msgspec.Struct):
    """`tests`: by file::name; `soaks`: runs of the nemesis, newest last."""

    tests: dict[str, Result] = {}
    soaks: list[Outcome] = []
    smallest: Run | None = None
    mutants: list[Found] = []


def read(path: Path = KNOWN) -> Known:
    return msgspec.json.decode(path.read_bytes(), type=Known) if path.exists() else Known()


def write(known: Known, path: Path = KNOWN) -> None:
    path.write_bytes(msgspec.json.format(msgspec.json.encode(known), indent=2) + b"\n")
