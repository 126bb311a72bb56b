"""What was done to the source during a run, as far as a verdict needs it."""

from __future__ import annotations

import threading
from typing import Literal

import msgspec

Outcome = Literal["committed", "unknown"]


class Changed(msgspec.Struct, frozen=True):
    """A statement that changed rows, each of which has this version then. `rows`: new images of rows."""

    version: int
    table: int
    rows: int
    outcome: Outcome


class Journal:
    """Thread-safe.

    Attributes:
        changed: by version.
        emptied: table -> version of the last statement that has removed all of its rows.
        altered: (table, column) -> version as of which records may have another value in it.
        again: tables that a snapshot has to begin again for a statement, or reads under two names.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.changed: dict[int, Changed] = {}
        self.emptied: dict[int, list[int]] = {}
        self.altered: dict[tuple[int, str], int] = {}
        self.again: set[int] = set()
        self.statements: list[tuple[int, str]] = []

    def wrote(self, changes: list[Changed]) -> None:
        with self._lock:
            for change in changes:
                self.changed[change.version] = change

    def empty(self, table: int, version: int) -> None:
        with self._lock:
            self.emptied.setdefault(table, []).append(version)

    def alter(self, table: int, column: str, version: int) -> None:
        with self._lock:
            self.altered[table, column] = version

    def begin_again(self, table: int) -> None:
        with self._lock:
            self.again.add(table)

    def statement(self, version: int, text: str) -> None:
        """DDL, for whoever looks for the cause of a finding."""
        with self._lock:
            self.statements.append((version, text))
