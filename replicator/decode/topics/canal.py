"""Reads flat messages in Canal's format, for verification: values of most types are texts that can't be read back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from replicator.decode.topics.changes import RowChange
from replicator.decode.topics.rows import Values
from replicator.errors import DecodeError
from replicator.model.decoding import json_decoder


class _Message(msgspec.Struct):
    type: str
    database: str | None = None
    table: str | None = None
    es: int = 0
    isDdl: bool = False  # noqa: N815 (a field of the message)
    data: list[dict[str, msgspec.Raw]] | None = None
    old: list[dict[str, msgspec.Raw]] | None = None


_DECODER: Final = json_decoder(_Message)
_ROWS: Final = frozenset({"INSERT", "UPDATE", "DELETE"})


def read(value: bytes) -> Sequence[RowChange]:
    """One change for each row of the message. Raises DecodeError E2348, E2349 (TRUNCATE)."""
    try:
        found = _DECODER.decode(value)
    except msgspec.MsgspecError as error:
        raise DecodeError(
            "E2348",
            f"a record is not a flat message of Canal: {error}",
            found=f"{len(value)} bytes",
            wanted="an object with type, database, table and data",
        ) from error
    if found.type == "TRUNCATE":
        raise DecodeError("E2349", "a record is of TRUNCATE", found=f"{len(value)} bytes")
    if found.isDdl or found.type not in _ROWS or found.data is None:
        return ()
    database, table, old = found.database or "", found.table or "", found.old or ()
    if found.type == "DELETE":
        return [RowChange(database, table, row, None, found.es) for row in found.data]
    return [
        RowChange(database, table, _before(row, old, number), row, found.es) for number, row in enumerate(found.data)
    ]


def _before(row: Values, old: Sequence[Values], number: int) -> Values | None:
    """`old` has only what an update has changed."""
    return {**row, **old[number]} if number < len(old) and old[number] else None
