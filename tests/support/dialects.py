"""Binlogs as MySQL 5.7, 8.0 and 8.4 write them, releases that no test runs: events made after their documented formats
(`libbinlogevents` of each release: control_events.h, rows_event.h, gtid; the manual's pages of replication protocols).

What differs: the types that a FORMAT_DESCRIPTION lists, what a GTID event tells beside the GTID, how much a TABLE_MAP
tells of its columns, compressed transactions, partial JSON updates, invisible columns and keys, GTIDs with tags.
"""

from __future__ import annotations

import struct
import uuid as uuids
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from tests.support.binlog_writer import (
    FORMAT_DESCRIPTION,
    GTID,
    PREVIOUS_GTIDS,
    UPDATE_ROWS,
    BinlogWriter,
    Row,
    TableSpec,
    bits,
    image,
)
from tests.unit.decode.binlog_writer import lenenc, payload

ROWS_QUERY, ANONYMOUS_GTID, VIEW_CHANGE, XA_PREPARE, PARTIAL_UPDATE_ROWS = 29, 34, 37, 38, 39
TRANSACTION_PAYLOAD, GTID_TAGGED = 40, 42

_5_7: Final = bytes.fromhex("380d0008001200040404041200005f00041a08000000080808020000000a0a0a2a2a00123400")
_8_0: Final = bytes.fromhex("000d0008000000000400040000006200041a08000000000000020000000a0a0a2a2a001234000a2800")


@dataclass(frozen=True)
class Dialect:
    """
    lengths: of the fixed parts of events, as its FORMAT_DESCRIPTION lists them.
    metadata: what its TABLE_MAPs tell (binlog_row_metadata): nothing, MINIMAL or FULL.
    times: GTID events have the times of commits, the transaction's length and the server's version.
    tickets: and a commit group's number.
    partial: updates of a part of a document (PARTIAL_JSON), from 8.0 on.
    visibility: columns may be invisible, from 8.0.23 on; and keys that the server makes, from 8.0.30 on.
    """

    name: str
    version: str
    lengths: bytes
    metadata: Literal["none", "minimal", "full"]
    times: bool = True
    compresses: bool = True
    visibility: bool = True
    partial: bool = True
    tickets: bool = False
    tags: bool = False


DIALECTS: Final = (
    Dialect("5.7", "5.7.44-log", _5_7, "none", times=False, compresses=False, visibility=False, partial=False),
    Dialect("8.0.19", "8.0.19", _8_0[:-2], "full", compresses=False, visibility=False),
    Dialect("8.0 minimal", "8.0.36", _8_0, "minimal"),
    Dialect("8.0", "8.0.36", _8_0, "full"),
    Dialect("8.4 minimal", "8.4.3", _8_0[:14] + b"\x63" + _8_0[15:] + b"\0", "minimal", tickets=True, tags=True),
    Dialect("8.4", "8.4.3", _8_0[:14] + b"\x63" + _8_0[15:] + b"\0", "full", tickets=True, tags=True),
)


Gtids: TypeAlias = Literal["anonymous", "named", "tagged"]


@dataclass
class DialectWriter(BinlogWriter):
    """A server of one release. `tag`: of the GTIDs that it gives; "anonymous": it gives none."""

    dialect: Dialect = field(default=DIALECTS[0])
    gtids: Gtids = "named"
    tag: str = "audit"
    original: bool = False
    """Transactions come from another server: they have its commit time and version, too."""
    length: int = 0
    partitioned: bool = False
    """Rows are those of a table's partitions, which MySQL 8.0 tells in front of them."""
    invisible: frozenset[str] = frozenset()
    """Names of columns."""

    def format_description(self, version: str = "") -> bytes:
        body = struct.pack("<H50sIB", 4, self.dialect.version.encode(), 0, 19) + self.dialect.lengths
        return self.event(FORMAT_DESCRIPTION, body + bytes([1 if self.checksum else 0]))

    @property
    def gtid_set(self) -> str:
        plain = super().gtid_set
        if self.gtids == "anonymous" or not plain:
            return ""
        head, _, numbers = plain.partition(":")
        return f"{head}:{self.tag}:{numbers}" if self.gtids == "tagged" else plain

    def previous_gtids(self) -> bytes:
        return self.event(PREVIOUS_GTIDS, struct.pack("<Q", 0))

    @property
    def commit_us(self) -> int:
        return self.timestamp * 1_000_000 + 123_456 + self.number

    def gtid(self) -> bytes:
        self.number += 1
        if self.gtids == "tagged":
            return self.event(GTID_TAGGED, self._tagged())
        named = self.gtids == "named"
        body = b"\x01" + (uuids.UUID(self.uuid).bytes if named else bytes(16))
        body += struct.pack("<qB", self.number if named else 0, 2) + struct.pack("<qq", self.number - 1, self.number)
        if self.dialect.times:
            body += (self.commit_us | self.original << 55).to_bytes(7, "little")
            body += (self.commit_us - 5_000_000).to_bytes(7, "little") if self.original else b""
            body += lenenc(self.length)
            body += struct.pack("<I", 80_036 | self.original << 31) + (struct.pack("<I", 80_019) * self.original)
            body += struct.pack("<Q", 77) if self.dialect.tickets else b""
        return self.event(GTID if named else ANONYMOUS_GTID, body)

    def _tagged(self) -> bytes:
        tag = self.tag.encode()
        fields = [
            (0, _unsigned(1)),
            (1, b"".join(map(_unsigned, uuids.UUID(self.uuid).bytes))),
            (2, _signed(self.number)),
            (3, _unsigned(len(tag)) + tag),
            (4, _signed(self.number - 1)),
            (5, _signed(self.number)),
            (6, _unsigned(self.commit_us)),
            (7, _unsigned(self.commit_us - 5_000_000)),
            (8, _unsigned(self.length)),
            (9, _unsigned(80_403)),
        ]
        written = [(number, value) for number, value in fields if number != 7 or self.original]
        body = b"".join(_unsigned(number) + value for number, value in written)
        head = _unsigned(1)
        last = _unsigned(9)
        size = len(head) + len(last) + len(body)
        counted = next(n for n in range(1, 10) if len(_unsigned(size + n)) == n)
        return head + _unsigned(size + counted) + last + body

    def _optional(self, table: TableSpec) -> bytes:
        metadata = self.dialect.metadata
        if metadata == "none":
            return b""
        text = super()._optional(table)
        if metadata == "full":
            shown = bits([column.name not in self.invisible for column in table.columns], high_first=True)
            visible = bytes([12]) + lenenc(len(shown)) + shown
            return text + (visible if self.dialect.visibility else b"")
        return b"".join(part for kind, part in _fields(text) if kind in (1, 2, 3, 7))

    def _extra(self, kind: int) -> bytes:
        if not self.partitioned or not self.dialect.times:
            return b""
        return b"\x01" + struct.pack("<HH", 3, 2)[: 4 if kind == UPDATE_ROWS else 2]

    def view_change(self) -> bytes:
        """What group replication writes when a member joins: a transaction without rows."""
        body = b"view-1:3".ljust(40, b"\0") + struct.pack("<QI", self.number, 0)
        return self.gtid() + self.query("BEGIN") + self.event(VIEW_CHANGE, body) + self.query("COMMIT")

    def rows_query(self, text: str) -> bytes:
        return self.event(ROWS_QUERY, bytes([min(len(text), 255)]) + text.encode())

    def xa_prepare(self, gtrid: bytes, *, one_phase: bool = False) -> bytes:
        """Ends an XA transaction with the first step of its commit, or with all of it (`one_phase`)."""
        return self.event(XA_PREPARE, struct.pack("<BIII", one_phase, 1, len(gtrid), 0) + gtrid)

    def partial_update(self, table: TableSpec, before: Row, after: Row, *, partial: bool) -> bytes:
        """An update of one row. `partial`: the value of the one JSON column in `after` is a list of changes."""
        present, extra = bits([True] * len(table.columns)), self._extra(UPDATE_ROWS)
        body = table.id.to_bytes(6, "little") + struct.pack("<HH", 1, 2 + len(extra)) + extra
        body += lenenc(len(table.columns)) + present + present
        return self.event(PARTIAL_UPDATE_ROWS, body + image(table, before) + bytes([1, partial]) + image(table, after))

    def compress(self, inside: bytes) -> bytes:
        """`inside`: events from BEGIN to XID, made by a writer without checksums."""
        return self.event(TRANSACTION_PAYLOAD, payload(inside))


def _fields(text: bytes) -> list[tuple[int, bytes]]:
    found, at = [], 0
    while at < len(text):
        size, width = (text[at + 1], 1) if text[at + 1] < 251 else (int.from_bytes(text[at + 2 : at + 4], "little"), 3)
        found.append((text[at], text[at : at + 1 + width + size]))
        at += 1 + width + size
    return found


def _unsigned(value: int) -> bytes:
    """Of MySQL's serialization library: the low one bits of the first byte tell how many bytes follow."""
    more = next((n for n in range(8) if value < 1 << 7 * (n + 1)), 8)
    if more == 8:
        return b"\xff" + value.to_bytes(8, "little")
    return (value << (more + 1) | (1 << more) - 1).to_bytes(more + 1, "little")


def _signed(value: int) -> bytes:
    return _unsigned(value << 1 if value >= 0 else (-value - 1) << 1 | 1)
