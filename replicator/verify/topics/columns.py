"""Columns of one table as its records have them: identity, hashes and comparison of rows. No server is involved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Final, TypeAlias

import msgspec

from replicator.model.decoding import from_json
from replicator.verify.compare import Comparison, Row, document
from replicator.verify.report import shown

Values: TypeAlias = Mapping[str, bytes]
"""JSON of each column, by its name."""

_DIGEST: Final = 16
_COLUMN_DIGEST: Final = 8
_NULL: Final = b"null"
_NUMBERS: Final = {b"true": b"1", b"false": b"0"}
UNKNOWN: Final = b"?"
"""Instead of the digest of a value: a record that can't be read any more. It is equal to nothing."""


class RecordComparison(Comparison):
    """Of rows that have None for columns that a record does not have: these are not compared."""

    def __init__(self) -> None:
        super().__init__(())

    def columns(self, one: Row, other: Row) -> tuple[int, ...]:
        return tuple(
            index
            for index, (mine, its) in enumerate(zip(one, other, strict=True))
            if mine != its and mine is not None and its is not None and not _same_boolean(mine, its)
        )


def _same_boolean(mine: bytes, its: bytes) -> bool:
    """A boolean, and a number that it stands for."""
    if (mine in _NUMBERS) == (its in _NUMBERS) or _NULL in (mine, its) or UNKNOWN in (mine, its):
        return False
    truth = mine if mine in _NUMBERS else its
    return (truth == b"true") == ((its if truth is mine else mine) != b"0")


class Columns:
    """
    Args:
        number: of the table, different for each one that is compared.
        names: of its columns at present, as records have them.
        key: those of its key.
        documents: those with JSON, whose text may differ.
        booleans: those that may be numbers in one record and booleans in another: Debezium's format has a TINYINT(1)
            as a boolean if the task has seen the statement that declared it BOOL.
        omitted_nulls: a column that a record does not have is NULL there.
    """

    def __init__(
        self,
        number: int,
        names: Sequence[str],
        key: Sequence[str],
        documents: Iterable[str] = (),
        booleans: Iterable[str] = (),
        *,
        omitted_nulls: bool = False,
    ) -> None:
        self.number, self.names, self.key = number, tuple(names), tuple(key)
        self._documents, self._booleans = frozenset(documents), frozenset(booleans)
        self._omitted = omitted_nulls
        self._head = number.to_bytes(4, "little")
        self._layouts: dict[frozenset[str], int] = {}
        self._known: list[tuple[str, ...]] = []

    def identity(self, row: Values) -> bytes | None:
        """Of the key's values; None: the row does not have all of them."""
        try:
            values = [bytes(row[name]) for name in self.key]
        except KeyError:
            return None
        return blake2b(self._head + b"\0".join(values), digest_size=_DIGEST).digest()

    def layout(self, row: Values) -> int:
        """A number of the columns that the row has, of those that the table has at present. A record from before a
        column was added does not have it."""
        names = frozenset(row)
        number = self._layouts.get(names)
        if number is None:
            known = self.names if self._omitted else tuple(name for name in self.names if name in names)
            if known not in self._known:
                self._known.append(known)
            number = self._layouts[names] = self._known.index(known)
        return number

    @property
    def layouts(self) -> int:
        return len(self._known)

    def lacking(self, layout: int) -> tuple[str, ...]:
        """Columns that rows of a layout do not have."""
        return tuple(name for name in self.names if name not in self._known[layout])

    def digest(self, row: Values, layout: int) -> bytes:
        """Of the values of a layout's columns. No JSON text has a zero byte."""
        values = [bytes(row.get(name, _NULL)) for name in self._known[layout]]
        if self._booleans:
            values = [
                _NUMBERS.get(value, value) if name in self._booleans else value
                for name, value in zip(self._known[layout], values, strict=True)
            ]
        return blake2b(b"\0".join(values), digest_size=_DIGEST).digest()

    def row(self, row: Values) -> Row:
        """A digest for each column, alike for all texts of one value, and the value itself of `booleans`; None where
        the row does not have the column."""
        return tuple(self._column(name, row.get(name)) for name in self.names)

    @property
    def unreadable(self) -> Row:
        """A row whose values are not known."""
        return (UNKNOWN,) * len(self.names)

    def _column(self, name: str, raw: bytes | None) -> bytes | None:
        if raw is None:
            if not self._omitted:
                return None
            raw = _NULL
        if name in self._booleans:
            return bytes(raw)
        text = _canonical(bytes(raw)) if name in self._documents else bytes(raw)
        return blake2b(text, digest_size=_COLUMN_DIGEST).digest()

    def shown_key(self, row: Values) -> dict[str, str]:
        return {name: _shown(bytes(row[name])) for name in self.key if name in row}


def _canonical(raw: bytes) -> bytes:
    """Of a JSON document, or of a text that is one: members of objects may be in another order. Numbers with a point
    or an exponent are compared as DOUBLE: the source's text does not show which of them are DECIMAL."""
    try:
        text = from_json(raw, str).encode()
    except (msgspec.MsgspecError, UnicodeEncodeError):
        return document(raw, number=_double) or raw
    return b'"' + (document(text, number=_double) or b"")


def _double(text: str) -> object:
    return {"\0number": repr(float(text))}


def _shown(raw: bytes) -> str:
    """JSON of a value, for people: texts without their quotes."""
    try:
        text = from_json(raw, str)
    except msgspec.MsgspecError:
        return shown(raw)
    return shown(text.encode("utf-8", "replace"))
