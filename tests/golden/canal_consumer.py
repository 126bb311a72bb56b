"""A consumer of Canal's messages that keeps tables, as far as rows alone can tell what is in them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from replicator.encode import canal_messages as proto
from tests.golden.canal_entries import EVENT_NAMES

Selected = dict[str, "str | bytes | None"]
"""A row as the server selects it: text, and bytes where it calls them so."""

_EXACT = frozenset({"TINYINT", "SMALLINT", "MEDIUMINT", "INT", "INTEGER", "BIGINT", "DECIMAL"})


class Kept:
    """
    Attributes:
        keys: columns that identify a row; empty where nothing does, and then there are no rows here.
        complete: the rows are all there are: no DDL has changed the table since it was created or emptied.
        types: `mysqlType` by column.
        rows: by the JSON text of their key.
    """

    def __init__(self, *, complete: bool) -> None:
        self.complete = complete
        self.keys: list[str] = []
        self.types: dict[str, str] = {}
        self.rows: dict[str, dict[str, str | None]] = {}

    def put(self, row: dict[str, str | None], old: dict[str, str | None]) -> None:
        self.remove({**row, **old})
        self.rows[self._key(row)] = row

    def remove(self, row: dict[str, str | None]) -> None:
        self.rows.pop(self._key(row), None)

    def differences(self, truth: list[Selected]) -> Iterator[str]:
        """What is not as the server has it."""
        if self.complete and self.keys and len(truth) != len(self.rows):
            yield f"{len(truth)} rows, not {len(self.rows)}"
        for row in self.rows.values():
            other = next((each for each in truth if all(self._same(key, row, each) for key in self.keys)), None)
            if other is None:
                yield f"no such row: {row}"
                continue
            for column, value in row.items():
                if not self._same(column, row, other):
                    yield f"{column} is {other[column]!r}, not {value!r}"

    def _same(self, column: str, row: dict[str, str | None], other: Selected) -> bool:
        return same(self.types[column], row[column], other[column])

    def _key(self, row: dict[str, str | None]) -> str:
        return json.dumps([row[key] for key in self.keys], ensure_ascii=False)


class Consumer:
    """Args: flat: messages are JSON, else protobuf."""

    def __init__(self, *, flat: bool) -> None:
        self.tables: dict[str, Kept] = {}
        self._read = json.loads if flat else _flattened

    def take(self, value: bytes) -> None:
        message = self._read(value)
        if message is None or message["type"] in ("XACOMMIT", "XAROLLBACK"):
            return
        name = f"{message['database']}.{message['table']}"
        if message["isDdl"]:
            self._statement(message["type"], name, message["sql"])
        elif message["type"] != "QUERY":
            self._rows(message, self.tables.setdefault(name, Kept(complete=False)))

    def _statement(self, kind: str, name: str, sql: str) -> None:
        if kind in ("CREATE", "TRUNCATE"):
            if "IF NOT EXISTS" not in sql:
                self.tables[name] = Kept(complete=True)
        elif kind not in ("CINDEX", "DINDEX"):
            for word in {name.partition(".")[2], *re.findall(r"[\w$]+", sql)}:
                for database in {name.partition(".")[0], "zoo", "zoo_two"}:
                    self.tables.pop(f"{database}.{word}", None)
            if "DATABASE" in sql:
                for other in [each for each in self.tables if each.startswith(name)]:
                    del self.tables[other]

    def _rows(self, message: dict[str, Any], table: Kept) -> None:
        table.keys, table.types = message["pkNames"] or [], message["mysqlType"]
        if not table.keys:
            return
        for place, row in enumerate(message["data"]):
            if message["type"] == "DELETE":
                table.remove(row)
            else:
                table.put(row, message["old"][place] if message["old"] else {})


def _flattened(value: bytes) -> dict[str, Any] | None:
    """A protobuf record as the flat message that says the same; None for where transactions begin and end."""
    (raw,) = proto.Messages.FromString(proto.Packet.FromString(value).body).messages
    entry = proto.Entry.FromString(raw)
    if entry.entryType != 2:
        return None
    body = proto.RowChange.FromString(entry.storeValue)
    rows = [row.afterColumns or row.beforeColumns for row in body.rowDatas]
    return {
        "database": entry.header.schemaName,
        "table": entry.header.tableName,
        "type": EVENT_NAMES[body.eventType],
        "isDdl": body.isDdl,
        "sql": body.sql,
        "data": [_values(row) for row in rows],
        "old": [_values(row.beforeColumns) for row in body.rowDatas if row.afterColumns and row.beforeColumns],
        "pkNames": [column.name for column in rows[0] if column.isKey] if rows else None,
        "mysqlType": {column.name: column.mysqlType for column in rows[0]} if rows else None,
    }


def _values(columns: Any) -> dict[str, str | None]:
    return {column.name: column.value if column.HasField("value") else None for column in columns}


def same(type_: str, ours: str | None, theirs: str | bytes | None) -> bool:
    """A value of a record against what the server selects as text."""
    if ours is None or theirs is None:
        return ours is theirs
    kind = re.split(r"[( ]", type_.upper())[0]
    if isinstance(theirs, bytes) and kind not in ("BIT",):
        theirs = theirs.decode("latin-1" if _binary(kind) else "utf-8")
    if kind == "BIT":
        raw = theirs if isinstance(theirs, bytes) else theirs.encode("latin-1")
        return ours == str(int.from_bytes(raw, "big"))
    assert isinstance(theirs, str)
    if kind in ("ENUM", "SET"):
        return _members(kind, type_, int(ours)) == theirs
    if kind == "FLOAT":
        return float(f"{float(ours):.6g}") == float(f"{float(theirs):.6g}")
    if kind in ("DOUBLE", "REAL"):
        return math.isclose(float(ours), float(theirs), rel_tol=1e-9)  # DOUBLE(M,D) is rounded when it is selected
    if kind in _EXACT:
        return Decimal(ours) == Decimal(theirs)  # ZEROFILL is shown when it is selected
    if kind == "JSON":
        return _document(ours) == _document(theirs)
    return ours == theirs


def _binary(kind: str) -> bool:
    return kind.endswith(("BLOB", "BINARY", "POINT", "STRING", "POLYGON", "COLLECTION", "GEOMETRY"))


def _members(kind: str, type_: str, number: int) -> str:
    members = [text.replace("''", "'") for text in re.findall(r"'((?:[^']|'')*)'", type_)]
    if kind == "ENUM":
        return members[number - 1] if number else ""
    return ",".join(member for place, member in enumerate(members) if number >> place & 1)


def _document(text: str) -> Any:
    return json.loads(text.replace('"00:00:00.000000"', '"00:00:00"'), parse_int=float)
