"""Changes that a DDL statement makes to table definitions."""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec

from replicator.model.metadata_event import Verb
from replicator.schema.charsets import Text
from replicator.schema.token_cursor import Name

Key: TypeAlias = Name
"""(database, table), folded where the server folds names."""


class Change(msgspec.Struct, frozen=True):
    """What an operation did to one table, by name. `after`: its encoded definition; empty for a table that is gone or
    not known. `before`: of a table that was altered or renamed, where it was known."""

    verb: Verb
    name: Name
    new_name: Name | None = None
    after: bytes = b""
    before: bytes = b""


class Effects(msgspec.Struct, frozen=True, array_like=True):
    """What a statement left behind: enough to do it again without reading it again.

    Attributes:
        tables: (database, table, encoded definition; b"" of a table that is there and not known; None: gone).
        databases: (name, its default; None: gone).
    """

    tables: tuple[tuple[str, str, bytes | None], ...] = ()
    databases: tuple[tuple[str, Text | None], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.tables or self.databases)


UNKNOWN: Final = b""
