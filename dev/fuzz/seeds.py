"""Where the fuzzer begins: recorded binlogs, a few transactions at a time."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from dev.fuzz.case import Case, cases
from dev.paths import TREE

_FOLDERS: Final = (TREE / "tests" / "data" / "binlog", TREE / "tests" / "unit" / "compiled" / "data")
KEPT: Final = TREE / "tests" / "data" / "fuzz"
"""Cases that found something, each once, which the unit tests run."""
_MAGIC: Final = 4


def recorded() -> Iterator[tuple[Path, bytes]]:
    for folder in _FOLDERS:
        for path in sorted([*folder.glob("*.bin"), *folder.glob("*.bin.gz")]):
            raw = path.read_bytes()
            yield path, (gzip.decompress(raw) if path.suffix == ".gz" else raw)[_MAGIC:]


def seeds() -> Iterator[Case]:
    for path, raw in recorded():
        yield from cases(raw, mariadb=path.name.startswith("mariadb"))
