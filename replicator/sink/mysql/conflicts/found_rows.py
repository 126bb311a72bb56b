"""Reads and locks the rows of the target that have given keys, as row images in the form of the source."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from replicator import compiled
from replicator.errors import SinkError
from replicator.mysql import reading
from replicator.mysql.identifiers import quote_identifier
from replicator.mysql.prepared import Answer
from replicator.mysql.row_images.compiled_rows import CompiledRows
from replicator.mysql.row_images.packet_rows import PacketRows
from replicator.mysql.session import Session
from replicator.mysql.table_shape import WIDE, ColumnShape
from replicator.sink.mysql.conflicts.key_literals import literal
from replicator.sink.mysql.conflicts.lookup import Lookup
from replicator.sink.mysql.connection import Target
from replicator.sink.mysql.image_values import Values

_KEYS_AT_ONCE: Final = 500
_WEIGHTS_AT_ONCE: Final = 200
_QUERY_BYTES: Final = 1 << 20
_ROWS: Final = 1 << 20
_BYTES: Final = 64 << 20


class FoundRows:
    """Of one session, inside its transaction: the rows stay locked until its end.

    Raises SinkError, SinkUnavailable: as the session.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self._prepared = False

    def read(self, lookup: Lookup, columns: Sequence[int], keys: Iterable[Values]) -> Iterator[bytes]:
        """Images of the rows that have one of the values in these columns. Two of the keys may find one row."""
        if not self._prepared:
            reading.as_stored(self._target.session)
            self._prepared = True
        for condition in _conditions(lookup, columns, keys):
            yield from _images(self._target.session, lookup, f"{lookup.shape.select} WHERE {condition} FOR UPDATE")

    def weights(self, lookup: Lookup, column: int, values: Iterable[bytes]) -> dict[bytes, bytes]:
        """Value of a column -> bytes that are the same for values that its collation takes for equal."""
        shape = lookup.shape.columns[column]
        wanted = list(dict.fromkeys(values))
        found: dict[bytes, bytes] = {}
        for start in range(0, len(wanted), _WEIGHTS_AT_ONCE):
            part = wanted[start : start + _WEIGHTS_AT_ONCE]
            levels = [self._level(shape, part, level) for level in self._levels]
            found.update(zip(part, map(_joined, zip(*levels, strict=True)), strict=True))
        return found

    @property
    def _levels(self) -> Sequence[str]:
        """Collations with several levels ignore spaces at the end of each; MySQL has none of these."""
        return (" LEVEL 1", " LEVEL 2", " LEVEL 3") if self._target.server.mariadb else ("",)

    def _level(self, shape: ColumnShape, values: Sequence[bytes], level: str) -> list[bytes]:
        texts = [literal(shape, value) for value in (_space(shape.charset), *values)]
        row = self._target.session.rows("SELECT " + ", ".join(f"HEX(WEIGHT_STRING({text}{level}))" for text in texts))[
            0
        ]
        space, *weights = (bytes.fromhex(str(value)) for value in row)
        return [_without(weight, space) for weight in weights] if _padded(shape.collation_name) else weights


def _conditions(lookup: Lookup, columns: Sequence[int], keys: Iterable[Values]) -> Iterator[str]:
    shapes = [lookup.shape.columns[index] for index in columns]
    names = [quote_identifier(shape.name) for shape in shapes]
    part: list[str] = []
    size = 0
    for key in keys:
        texts = [literal(shape, value) for shape, value in zip(shapes, key, strict=True) if value is not None]
        term = texts[0] if len(texts) == 1 else " AND ".join(map(" = ".join, zip(names, texts, strict=True)))
        if part and (len(part) == _KEYS_AT_ONCE or size + len(term) > _QUERY_BYTES):
            yield _condition(names, part)
            part, size = [], 0
        part.append(term)
        size += len(term)
    if part:
        yield _condition(names, part)


def _condition(names: Sequence[str], terms: Sequence[str]) -> str:
    if len(names) == 1:
        return f"{names[0]} IN ({', '.join(terms)})"
    return " OR ".join(f"({term})" for term in terms)


def _images(session: Session, lookup: Lookup, sql: str) -> Iterator[bytes]:
    made: type[CompiledRows | PacketRows] = CompiledRows if compiled.available() else PacketRows
    try:
        rows = made(Answer(session, sql), lookup.shape, None, mariadb=lookup.mariadb)
        while not rows.ended:
            data, ends, _ = rows.take(_ROWS, _BYTES)
            yield from (data[start:end] for start, end in zip(array("q", (0, *ends)), ends, strict=False))
    except ValueError as error:
        table = lookup.table
        raise SinkError(
            "E3450",
            f"a row of {table.qualified} can't be read",
            found=str(error),
            table=table.source,
            fix="Put a rule `{tables: [...], policy: stop}` for the table in front, and correct the row by hand.",
        ) from error


def _joined(levels: Iterable[bytes]) -> bytes:
    return b"".join(len(weight).to_bytes(4, "big") + weight for weight in levels)


def _padded(collation: str) -> bool:
    """Whether spaces at the end count for nothing."""
    return "nopad" not in collation and "_0900_" not in collation


def _space(charset: str) -> bytes:
    if charset not in WIDE:
        return b" "
    width = 4 if charset == "utf32" else 2
    return b" ".ljust(width, b"\0") if charset == "utf16le" else b" ".rjust(width, b"\0")


def _without(weight: bytes, space: bytes) -> bytes:
    """Without the weights of spaces at the end."""
    while space and weight.endswith(space) and (len(weight) % len(space)) == 0:
        weight = weight[: -len(space)]
    return weight
