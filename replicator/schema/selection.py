"""Interface of the table filter that the schema history uses; see `config.tables.TableFilter`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias


class Selection(Protocol):
    def matches(self, database: str, table: str) -> bool: ...

    def touches(self, database: str) -> bool: ...


Choose: TypeAlias = Callable[[Sequence[str]], Selection]
"""Patterns of tables -> the choice that they mean."""
