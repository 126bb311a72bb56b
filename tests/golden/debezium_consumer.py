"""A consumer of Debezium's records that keeps tables: it reads values as their schemas say."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from tests.golden.compare import Record

Row: TypeAlias = dict[str, Any]
Fields: TypeAlias = dict[str, dict[str, Any]]

_EPOCH = datetime(1970, 1, 1)


class Consumer:
    """Takes records with schemas in.

    Attributes:
        tables: `database.table` -> rows, as they came.
        fields: `database.table` -> column -> schema.
        altered: tables whose rows a statement changed or moved without telling of each: rows alone can't say what is
            in them.
    """

    def __init__(self) -> None:
        self.tables: dict[str, list[Row]] = {}
        self.fields: dict[str, Fields] = {}
        self.altered: set[str] = set()

    def take(self, records: Iterable[Record]) -> None:
        for record in records:
            if record.value is not None:
                message = json.loads(record.value)
                if "ddl" in message["payload"]:
                    self._statement(message["payload"])
                else:
                    self._row(message["schema"], message["payload"])

    def _statement(self, payload: dict[str, Any]) -> None:
        if payload["ddl"].startswith("DROP DATABASE"):
            database = payload["databaseName"]
            self.altered |= {name for name in self.fields if name.startswith(f"{database}.")}
        for change in payload["tableChanges"]:
            database, table = json.loads("[" + change["id"].replace('"."', '","') + "]")
            if change["type"] != "CREATE" or "SELECT" in payload["ddl"] or "START TRANSACTION" in payload["ddl"]:
                self.altered.add(f"{database}.{table}")

    def _row(self, schema: dict[str, Any], payload: dict[str, Any]) -> None:
        name = f"{payload['source']['db']}.{payload['source']['table']}"
        if name in self.altered:
            return
        rows = self.tables.setdefault(name, [])
        if payload["op"] == "t":
            rows.clear()
            return
        after = next(field for field in schema["fields"] if field["field"] == "after")
        self.fields[name] = {field["field"]: field for field in after["fields"]}
        if payload["before"] is not None:
            rows.remove(payload["before"])
        if payload["after"] is not None:
            rows.append(payload["after"])


def same(ours: Any, theirs: str | bytes | None, schema: dict[str, Any]) -> bool:
    """A value of a record against what the server selects: text, or bytes where it has bytes."""
    name = schema.get("name", "").rpartition(".")[2]
    if name in _MOMENTS and _is_no_day(theirs):
        return True  # null, or a stand-in where the column can't be null
    if ours is None:
        return theirs is None
    if theirs is None:
        return False
    if name in _READERS:
        return bool(_READERS[name](ours, theirs, schema))
    if schema["type"] == "bytes":
        return isinstance(theirs, bytes) and base64.b64decode(ours) == theirs
    if schema["type"] == "boolean":
        return bool(ours) == bool(int.from_bytes(theirs, "big") if isinstance(theirs, bytes) else int(theirs))
    text = theirs.decode() if isinstance(theirs, bytes) else theirs
    if schema["type"] in ("float", "double"):
        return _same_number(ours, text)
    return int(text) == ours if schema["type"].startswith("int") else text == ours


def _is_no_day(theirs: str | bytes | None) -> bool:
    """Zero dates, and days that no calendar has: this format has no value for them."""
    try:
        return theirs is not None and not datetime.fromisoformat(str(theirs))
    except ValueError:
        return True


def _same_number(ours: Any, theirs: str) -> bool:
    """The server prints six digits of a FLOAT, and of DOUBLE(M,D) as many as it declares."""
    one, other = float(ours), float(theirs)
    digits = len(theirs.partition(".")[2])
    return one == other or f"{one:.6g}" == f"{other:.6g}" or round(one, digits) == other


def _moment(micros: int) -> str:
    moment = _EPOCH + timedelta(microseconds=micros)
    return f"{moment:%Y-%m-%d %H:%M:%S}".rjust(19, "0") + (f".{moment.microsecond:06d}" if moment.microsecond else "")


def _trimmed(theirs: Any) -> str:
    text = str(theirs)
    return text.rstrip("0").rstrip(".") if "." in text else text


def _at(micros: int, theirs: Any) -> bool:
    return _trimmed(_moment(micros)) == _trimmed(theirs)


def _time(micros: int, theirs: Any) -> bool:
    seconds, rest = divmod(abs(micros), 1_000_000)
    sign = "-" if micros < 0 else ""
    text = f"{sign}{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{rest:06d}"
    return _trimmed(text) == _trimmed(theirs)


def _document(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return list(ours) == list(theirs) and all(_document(ours[name], theirs[name]) for name in ours)
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(_document, ours, theirs))
    if isinstance(ours, str) and isinstance(theirs, str):
        return ours == theirs or _trimmed(theirs) == _trimmed(ours) or theirs == f"{ours}.000000"
    if isinstance(ours, bool) or isinstance(theirs, bool) or ours is None or theirs is None:
        return ours is theirs
    return float(ours) == float(theirs)


def _decimal(ours: str, theirs: Any, schema: dict[str, Any]) -> bool:
    unscaled = int.from_bytes(base64.b64decode(ours), "big", signed=True)
    digits = str(theirs).partition(".")[2]
    assert len(digits) == int(schema["parameters"]["scale"])
    return unscaled == int(str(theirs).replace(".", ""))


_MOMENTS = frozenset({"Date", "Timestamp", "MicroTimestamp", "ZonedTimestamp"})
_READERS: dict[str, Any] = {
    "Date": lambda ours, theirs, schema: _moment(ours * 86_400_000_000)[:10] == theirs,
    "Timestamp": lambda ours, theirs, schema: _at(ours * 1000, theirs),
    "MicroTimestamp": lambda ours, theirs, schema: _at(ours, theirs),
    "ZonedTimestamp": lambda ours, theirs, schema: _trimmed(ours[:-1].replace("T", " ")) == _trimmed(theirs),
    "MicroTime": lambda ours, theirs, schema: _time(ours, theirs),
    "Decimal": _decimal,
    "Year": lambda ours, theirs, schema: ours == int(theirs),
    "Bits": lambda ours, theirs, schema: base64.b64decode(ours)[::-1] == theirs,
    "Json": lambda ours, theirs, schema: _document(json.loads(ours), json.loads(theirs)),
    "Point": lambda ours, theirs, schema: _geometry(ours) == theirs,
    "Geometry": lambda ours, theirs, schema: _geometry(ours) == theirs,
}


def _geometry(ours: dict[str, Any]) -> bytes:
    return (ours["srid"] or 0).to_bytes(4, "little") + base64.b64decode(ours["wkb"])
