"""Writes binlog events as MySQL 8 and later do, for tests without a server: bytes and positions are exact."""

from __future__ import annotations

import struct
import uuid as uuids
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from replicator.source.binlog_layout import HEADER
from replicator.source.memory_source import MemoryServer

QUERY, STOP, ROTATE, FORMAT_DESCRIPTION, XID, TABLE_MAP = 2, 3, 4, 15, 16, 19
WRITE_ROWS, UPDATE_ROWS, DELETE_ROWS, GTID, PREVIOUS_GTIDS = 30, 31, 32, 33, 35
TINY, SHORT, LONG, LONGLONG, VARCHAR = 1, 2, 3, 8, 15

STRING, ENUM, SET, BLOB = 254, 247, 248, 252
_TEXTS = (VARCHAR, BLOB)
_SIGNED = (TINY, SHORT, LONG, LONGLONG, 4, 5, 9, 13, 246)  # with FLOAT, DOUBLE, INT24, YEAR, NEWDECIMAL
_INTEGERS = {TINY: "b", SHORT: "h", LONG: "i", LONGLONG: "q"}
_POST_HEADERS = bytes.fromhex(
    "000d0008000000000400040000006300041a08000000000000020000000a0a0a2a2a001234000a2800"
)  # as MySQL 9.7 writes them


@dataclass(frozen=True)
class Column:
    """`meta`: the type's bytes in the table map's metadata block; for VARCHAR made from `length` (bytes)."""

    name: str
    type: int = LONG
    nullable: bool = True
    unsigned: bool = False
    length: int = 255
    collation: int = 255  # utf8mb4_0900_ai_ci
    meta: bytes = b""
    members: tuple[str, ...] = ()

    @property
    def real_type(self) -> int:
        """ENUM and SET hide in a STRING's metadata."""
        return self.meta[0] if self.type == STRING and self.meta[0] in (ENUM, SET) else self.type

    @property
    def metadata(self) -> bytes:
        return struct.pack("<H", self.length) if self.type == VARCHAR else self.meta

    def encode(self, value: Any) -> bytes:
        """`value` as the row image holds it; bytes stand for themselves in types other than VARCHAR."""
        if self.type == VARCHAR:
            data = value.encode() if isinstance(value, str) else bytes(value)
            return struct.pack("<H" if self.length > 255 else "<B", len(data)) + data
        if self.type in _INTEGERS:
            code = _INTEGERS[self.type]
            return struct.pack("<" + (code.upper() if self.unsigned else code), value)
        return bytes(value)


@dataclass(frozen=True)
class TableSpec:
    database: str
    name: str
    columns: tuple[Column, ...]
    primary_key: tuple[int, ...] = (0,)
    id: int = 100


Row = Sequence[Any]
ITEMS = TableSpec("shop", "items", (Column("id", LONG, nullable=False), Column("name", VARCHAR)))


@dataclass
class BinlogWriter:
    """Events of one server with right end positions. Methods return the bytes of one event each and move `offset`."""

    uuid: str = "11111111-2222-3333-4444-555555555555"
    server_id: int = 1
    checksum: bool = True
    timestamp: int = 1_700_000_000
    offset: int = HEADER
    file: str = "binlog.000001"
    number: int = field(default=0, init=False)  # of the last transaction

    @property
    def gtid_set(self) -> str:
        return f"{self.uuid}:1-{self.number}" if self.number > 1 else f"{self.uuid}:1" if self.number else ""

    def event(self, kind: int, body: bytes, flags: int = 0) -> bytes:
        size = 19 + len(body) + (4 if self.checksum or kind == FORMAT_DESCRIPTION else 0)
        self.offset += size
        head = struct.pack("<IBIIIH", self.timestamp, kind, self.server_id, size, self.offset & 0xFFFFFFFF, flags)
        data = head + body
        return data + struct.pack("<I", zlib.crc32(data)) if size > len(data) else data

    def format_description(self, version: str = "8.4.0-test") -> bytes:
        body = struct.pack("<H50sIB", 4, version.encode(), 0, 19) + _POST_HEADERS
        return self.event(FORMAT_DESCRIPTION, body + bytes([1 if self.checksum else 0]))

    def previous_gtids(self) -> bytes:
        body = struct.pack("<Q", 1 if self.number else 0)
        if self.number:
            body += uuids.UUID(self.uuid).bytes + struct.pack("<QQQ", 1, 1, self.number + 1)
        return self.event(PREVIOUS_GTIDS, body)

    def gtid(self) -> bytes:
        """The next transaction's, with its logical clock and commit time; its length stays 0, unknown."""
        self.number += 1
        body = b"\x01" + uuids.UUID(self.uuid).bytes + struct.pack("<qB", self.number, 2)
        body += struct.pack("<qq", self.number - 1, self.number)
        body += (self.timestamp * 1_000_000).to_bytes(7, "little") + b"\0" + struct.pack("<I", 80_400)
        return self.event(GTID, body)

    def query(self, sql: str, database: str = "") -> bytes:
        name = database.encode()
        body = struct.pack("<IIBHH", 7, 0, len(name), 0, 0) + name + b"\0" + sql.encode()
        return self.event(QUERY, body)

    def xid(self) -> bytes:
        return self.event(XID, struct.pack("<Q", self.number))

    def rotate(self, file: str) -> bytes:
        return self.event(ROTATE, struct.pack("<Q", HEADER) + file.encode())

    def table_map(self, table: TableSpec) -> bytes:
        """With FULL metadata: signedness, character sets, names, primary key."""
        database, name, columns = table.database.encode(), table.name.encode(), table.columns
        nullable = bits([column.nullable for column in columns])
        metadata = b"".join(column.metadata for column in columns)
        body = _id(table.id) + struct.pack("<H", 1) + bytes([len(database)]) + database + b"\0"
        body += bytes([len(name)]) + name + b"\0" + _packed(len(columns)) + bytes(column.type for column in columns)
        body += _packed(len(metadata)) + metadata + nullable
        return self.event(TABLE_MAP, body + self._optional(table))

    def _optional(self, table: TableSpec) -> bytes:
        """The optional metadata, FULL."""
        columns, body = table.columns, b""
        numeric = [column.unsigned for column in columns if column.type in _SIGNED]
        if numeric:
            body += _field(1, bits(numeric, high_first=True))
        text = [column.collation for column in columns if column.type in _TEXTS]
        if text:
            body += _field(3, b"".join(_packed(collation) for collation in text))
        names = [column.name.encode() for column in columns]
        body += _field(4, b"".join(_packed(len(each)) + each for each in names))
        for kind, number in ((SET, 5), (ENUM, 6)):
            lists = [column.members for column in columns if column.real_type == kind]
            if lists:
                body += _field(number, b"".join(_members(members) for members in lists))
        if table.primary_key:
            body += _field(8, b"".join(_packed(index) for index in table.primary_key))
        return body

    def write_rows(self, table: TableSpec, rows: Sequence[Row], last: bool = True) -> bytes:
        return self._rows(WRITE_ROWS, table, [image(table, row) for row in rows], last)

    def delete_rows(self, table: TableSpec, rows: Sequence[Row], last: bool = True) -> bytes:
        return self._rows(DELETE_ROWS, table, [image(table, row) for row in rows], last)

    def update_rows(self, table: TableSpec, pairs: Sequence[tuple[Row, Row]], last: bool = True) -> bytes:
        images = [image(table, before) + image(table, after) for before, after in pairs]
        return self._rows(UPDATE_ROWS, table, images, last)

    def insert(self, table: TableSpec, *rows: Row) -> bytes:
        """A whole transaction of one statement."""
        return b"".join(
            [self.gtid(), self.query("BEGIN"), self.table_map(table), self.write_rows(table, rows), self.xid()]
        )

    def ddl(self, sql: str, database: str = "") -> bytes:
        return self.gtid() + self.query(sql, database)

    def _rows(self, kind: int, table: TableSpec, images: Sequence[bytes], last: bool) -> bytes:
        present = bits([True] * len(table.columns))
        extra = self._extra(kind)
        body = _id(table.id) + struct.pack("<HH", 1 if last else 0, 2 + len(extra)) + extra
        body += _packed(len(table.columns)) + present
        if kind == UPDATE_ROWS:
            body += present
        return self.event(kind, body + b"".join(images))

    def _extra(self, kind: int) -> bytes:
        """Data in front of the rows."""
        return b""


class MemoryBinlog:
    """A writer joined to a memory server: what tests usually want."""

    def __init__(self, **options: Any) -> None:
        self.server = MemoryServer()
        self.writer = BinlogWriter(**options)
        self._begin(self.writer.file)

    def insert(self, *rows: Row, table: TableSpec = ITEMS) -> None:
        self.append(self.writer.insert(table, *rows))

    def append(self, events: bytes) -> None:
        """Whole transactions that `writer` has made."""
        self.server.append(events, self.writer.gtid_set)

    def rotate(self) -> str:
        """Goes on in a next file; its name."""
        base, number = self.writer.file.rsplit(".", 1)
        name = f"{base}.{int(number) + 1:06d}"
        self.server.append(self.writer.rotate(name))
        self._begin(name)
        return name

    def _begin(self, name: str) -> None:
        self.writer.file, self.writer.offset = name, HEADER
        self.server.begin_file(name, self.writer.format_description() + self.writer.previous_gtids())


def image(table: TableSpec, row: Row) -> bytes:
    values = list(zip(table.columns, row, strict=True))
    return bits([value is None for _, value in values]) + b"".join(
        column.encode(value) for column, value in values if value is not None
    )


def _members(members: Sequence[str]) -> bytes:
    return _packed(len(members)) + b"".join(_packed(len(each.encode())) + each.encode() for each in members)


def _id(number: int) -> bytes:
    return number.to_bytes(6, "little")


def bits(flags: Sequence[bool], high_first: bool = False) -> bytes:
    data = bytearray((len(flags) + 7) // 8)
    for index, flag in enumerate(flags):
        if flag:
            data[index >> 3] |= 0x80 >> (index & 7) if high_first else 1 << (index & 7)
    return bytes(data)


def _packed(number: int) -> bytes:
    if number < 251:
        return bytes([number])
    if number < 1 << 16:
        return b"\xfc" + struct.pack("<H", number)
    return b"\xfd" + number.to_bytes(3, "little")


def _field(kind: int, data: bytes) -> bytes:
    return bytes([kind]) + _packed(len(data)) + data
