"""Reads what records say of rows, TRUNCATE and tombstones among them: for the verification of topics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from replicator.decode.topics import canal, debezium, maxwell
from replicator.decode.topics.changes import RowChange
from replicator.errors import DecodeError
from replicator.model.decoding import from_json

Format: TypeAlias = Literal["debezium", "maxwell", "canal"]


class Truncated(msgspec.Struct, frozen=True):
    """A record of TRUNCATE."""

    database: str
    table: str


Read: TypeAlias = Callable[[bytes], Sequence[RowChange | Truncated]]
"""Value of a record -> what it says of rows. Raises DecodeError E2348, E2349, without a position."""


class _Names(msgspec.Struct):
    db: str = ""
    table: str | None = None


class _Source(msgspec.Struct):
    source: _Names


class _Envelope(msgspec.Struct):
    """With a schema, or without one."""

    payload: _Source | None = None
    source: _Names | None = None


class _Flat(msgspec.Struct):
    database: str | None = None
    table: str | None = None


class _Keyed(msgspec.Struct):
    payload: dict[str, msgspec.Raw] | None = None


_SCHEMA: Final = b'{"schema":'


def reader(form: Format) -> Read:
    return {"debezium": _debezium, "maxwell": _maxwell, "canal": _canal}[form]


def _debezium(value: bytes) -> Sequence[RowChange | Truncated]:
    try:
        return _one(debezium.read(value))
    except DecodeError as error:
        if error.code != "E2349":
            raise
        found = from_json(value, _Envelope)
        names = found.source or (found.payload.source if found.payload else _Names())
        return [Truncated(names.db, names.table or "")]


def _maxwell(value: bytes) -> Sequence[RowChange | Truncated]:
    """What is neither a row nor known says nothing of rows: Maxwell's records of DDL have many types."""
    try:
        return _one(maxwell.read(value))
    except DecodeError as error:
        if error.code != "E2349":
            raise
        return ()


def _canal(value: bytes) -> Sequence[RowChange | Truncated]:
    try:
        return canal.read(value)
    except DecodeError as error:
        if error.code != "E2349":
            raise
        found = from_json(value, _Flat)
        return [Truncated(found.database or "", found.table or "")]


def _one(change: RowChange | None) -> Sequence[RowChange]:
    return [change] if change is not None else ()


def tombstone(key: bytes | None, database: str, table: str) -> Sequence[RowChange]:
    """What a record without a value says: the row with the key, in Debezium's format, is deleted. `database`, `table`:
    of the topic's only table. Keys that are no objects say nothing."""
    if key is None:
        return ()
    try:
        if key.startswith(_SCHEMA):
            values = from_json(key, _Keyed).payload or {}
        else:
            values = from_json(key, dict[str, msgspec.Raw])
    except msgspec.MsgspecError:
        return ()
    return [RowChange(database, table, values, None)]
