"""A writer's journal in a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from dev.checker.history import Transaction


class Spool:
    """`history.Journal` of any length: one line of JSON a transaction. Iterate when nothing is added any more."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("wb")
        self._count = 0

    def append(self, transaction: Transaction) -> None:
        self._file.write(msgspec.json.encode(transaction) + b"\n")
        self._count += 1

    def __iter__(self) -> Iterator[Transaction]:
        self._file.flush()
        decode = msgspec.json.Decoder(Transaction).decode
        with self._path.open("rb") as lines:
            for line in lines:
                yield decode(line)

    def __len__(self) -> int:
        return self._count

    def close(self) -> None:
        self._file.close()
