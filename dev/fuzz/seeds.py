"""Seeds of the fuzzer: recorded binlogs, a few transactions at a time."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from dev.fuzz.case import Case, cases
from dev.paths import TREE

_FOLDERS: Final = (TREE / "tests" / "data" / "binlog", TREE / "tests" / "unit" / "compiled" / "data")
KEPT: Final = TREE / "tests" / "data" / "fuzz"
"""Cases that found something, each once, which the unit tests run."""
_MAGIC: Final = 4
_GTIDS: Final = frozenset({33, 34, 42})
_ALONE: Final = frozenset({0, 4, 15, 35, *_GTIDS})
_PAYLOAD: Final = 40


def recorded() -> Iterator[tuple[Path, bytes]]:
    for folder in _FOLDERS:
        for path in sorted([*folder.glob("*.bin"), *folder.glob("*.bin.gz")]):
            raw = path.read_bytes()
            yield path, (gzip.decompress(raw) if path.suffix == ".gz" else raw)[_MAGIC:]


def seeds() -> Iterator[Case]:
    for path, raw in recorded():
        mariadb = path.name.startswith("mariadb")
        for case in cases(raw, mariadb=mariadb):
            yield case
            if path.name.startswith("mysql_orders"):
                yield payloads(case)


def payloads(case: Case) -> Case:
    """The same with every transaction inside of one event, stored and not compressed, so that its bytes can be bent."""
    found: list[tuple[int, int, bytes]] = []
    inside: list[bytes] = []
    for kind, flags, body in (*case.events, (0, 0, b"")):
        if found and found[-1][0] in _GTIDS and kind not in _ALONE:
            inside.append(struct.pack("<IBIIIH", 1_700_000_000, kind, 1, 19 + len(body), 0, flags) + body)
            continue
        if inside:
            stored = b"".join(inside)
            size = b"\xfd" + len(stored).to_bytes(3, "little")
            found.append((_PAYLOAD, 0, b"\x02\x03\xfc\xff\x00\x01\x04" + size + b"\x00" + stored))
            inside = []
        if kind:
            found.append((kind, flags, body))
    return replace(case, events=tuple(found))
