"""Results of a run of the mutants, as data."""

from __future__ import annotations

import msgspec

from dev.mutants.guards import GUARDS
from dev.paths import TREE

LATEST = TREE / "build" / "mutants.json"


class Found(msgspec.Struct):
    """`killer`: the first test that was red without the guard, "" when none was."""

    guard: str
    file: str
    killer: str


def read() -> list[Found]:
    return msgspec.json.decode(LATEST.read_bytes(), type=list[Found]) if LATEST.exists() else []


def write(found: list[Found]) -> None:
    LATEST.parent.mkdir(exist_ok=True)
    LATEST.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n")


def joined(known: list[Found], found: list[Found]) -> list[Found]:
    """Both, `found` in place of what was known, in the order of the guards; guards that are gone are left out."""
    by_name = {one.guard: one for one in (*known, *found)}
    return [by_name[guard.name] for guard in GUARDS if guard.name in by_name]
