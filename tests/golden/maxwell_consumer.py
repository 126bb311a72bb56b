"""A consumer of Maxwell's records that keeps tables, as far as rows alone can tell what is in them."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, TypeAlias

from replicator.decode.renderers import wkt
from tests.golden.compare import Record

Row: TypeAlias = dict[str, Any]


def tables(records: Iterable[Record]) -> dict[str, list[Row]]:
    """`database.table` -> its rows. JSON numbers with a point or an exponent are Decimals."""
    found: dict[str, list[Row]] = {}
    for record in records:
        message = json.loads(record.value or b"", parse_float=Decimal)
        rows = found.setdefault(f"{message['database']}.{message['table']}", [])
        if message["type"] != "insert":
            before = {**message["data"], **message.get("old", {})}
            rows.remove(before)  # a consumer that trusts no key: the whole row was there
        if message["type"] != "delete":
            rows.append(message["data"])
    return found


def same(ours: Any, theirs: str | bytes | None) -> bool:
    """A value of a record against what the server selects as text, or as bytes where it has bytes."""
    if ours is None:
        return theirs in (None, "", b"", "null", b"null")  # the error value of an ENUM; null in JSON
    if theirs is None:
        return False
    if isinstance(theirs, bytes):
        return _same_bytes(ours, theirs)
    if isinstance(ours, list) and all(isinstance(member, str) for member in ours) and not theirs.startswith("["):
        return ",".join(ours) == theirs
    if isinstance(ours, Decimal):
        return _same_number(ours, Decimal(theirs))
    if isinstance(ours, str) and ours == theirs:
        return True
    try:
        document = json.loads(theirs, parse_float=Decimal)
    except ValueError:
        return isinstance(ours, int) and int(theirs) == ours
    return _same_document(ours, document)


def _same_bytes(ours: Any, theirs: bytes) -> bool:
    if isinstance(ours, int):
        return ours == int.from_bytes(theirs, "big")  # BIT
    if isinstance(ours, str) and ours.split(" ")[0] in _SHAPES:
        return wkt.to_text(theirs) == ours
    if isinstance(ours, str) and base64.b64encode(theirs).decode() == ours:
        return True
    try:
        return same(ours, theirs.decode())
    except UnicodeDecodeError:  # bytes, and not these
        return False


_SHAPES = ("POINT", "LINESTRING", "POLYGON", "MULTIPOINT", "MULTILINESTRING", "MULTIPOLYGON", "GEOMETRYCOLLECTION")


def _same_number(ours: Decimal, theirs: Decimal) -> bool:
    """The server prints six digits of a FLOAT, and of DOUBLE(M,D) as many as it declares."""
    if ours == theirs or float(ours) == float(theirs) or f"{ours:.6g}" == f"{theirs:.6g}":
        return True
    declared = theirs.as_tuple().exponent
    return isinstance(declared, int) and declared < 0 and round(ours, -declared) == theirs


def _same_document(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return list(ours) == list(theirs) and all(_same_document(ours[name], theirs[name]) for name in ours)
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(_same_document, ours, theirs))
    if isinstance(ours, (int, Decimal)) and isinstance(theirs, (int, Decimal)) and not isinstance(ours, bool):
        return float(ours) == float(theirs)
    if isinstance(ours, str) and isinstance(theirs, str):
        return theirs in (ours, f"{ours}.000000") or theirs.rstrip("0") == ours
    return ours is theirs


def same_vector(ours: Any, theirs: str | bytes | None) -> bool:
    """`theirs`: hexadecimal."""
    if ours is None or theirs is None:
        return ours is theirs
    raw = bytes.fromhex(theirs if isinstance(theirs, str) else theirs.decode())
    return struct.pack(f"<{len(ours)}f", *ours) == raw
