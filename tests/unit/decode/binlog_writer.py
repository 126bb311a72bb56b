"""Binlogs written by hand, and plans and renderers to read them with."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from typing import Any, Literal, Self
from zlib import crc32

import pytest
import zstandard

from replicator.decode.binlog import event_types
from replicator.decode.decoder import BinlogDecoder
from replicator.decode.renderers.contract import Rendering
from replicator.decode.transactions.progress import Flavor
from replicator.errors import SourceError
from replicator.model import types
from replicator.model.batch import Batch, Record
from replicator.model.column_sizes import fixed_size
from replicator.model.plan import Image, RecordPlan, Step, TablePlan, Template, Text, Value, Var
from replicator.model.position import Position
from replicator.model.table import Column, Table
from replicator.pipeline.ports import Planner

UUID = "11111111-2222-3333-4444-555555555555"
CUTS = {1: "B", 2: "<H", 4: "<I", 8: "<Q"}


def event(
    kind: int, body: bytes = b"", *, at: int = 4, flags: int = 0, checksum: bool = True, ts: int = 1000, end: int = -1
) -> bytes:
    """`at`: offset of its first byte; `end`: the header's end position instead of the right one."""
    size = 19 + len(body) + 4 * checksum
    end = (at + size) % (1 << 32) if end < 0 else end
    raw = struct.pack("<IBIIIH", ts, kind, 7, size, end, flags) + body
    return raw + struct.pack("<I", crc32(raw)) if checksum else raw


class Log:
    """Collects events and counts their offsets."""

    def __init__(self, *, checksum: bool = True, at: int = 4, described: bool = True) -> None:
        self.at = at
        self.checksum = checksum
        self.parts: list[bytes] = []
        if described:
            lengths = bytearray(41)
            lengths[event_types.TABLE_MAP - 1] = 8
            body = struct.pack("<H50sIB", 4, b"9.7.4", 1, 19) + bytes(lengths) + bytes((checksum,))
            self.add(event_types.FORMAT_DESCRIPTION, body, checksum=True, end=0 if at > 4 else -1)

    def add(self, kind: int, body: bytes = b"", *, checksum: bool | None = None, end: int = -1, flags: int = 0) -> Self:
        used = self.checksum if checksum is None else checksum
        self.parts.append(event(kind, body, at=self.at, checksum=used, end=end, flags=flags))
        if end != 0 and not flags & event_types.FLAG_ARTIFICIAL:
            self.at += len(self.parts[-1])
        return self

    def gtid(self, number: int, commit_us: int = 5_000_000) -> Self:
        uuid = bytes.fromhex(UUID.replace("-", ""))
        return self.add(
            event_types.GTID, struct.pack("<B16sqBqq", 0, uuid, number, 2, 0, 1) + commit_us.to_bytes(7, "little")
        )

    def query(self, text: str, database: str = "shop", thread: int = 9) -> Self:
        body = struct.pack("<IIBHH", thread, 0, len(database), 0, 0) + database.encode() + b"\0" + text.encode()
        return self.add(event_types.QUERY, body)

    def map(self, table: Table, table_id: int = 1) -> Self:
        return self.add(event_types.TABLE_MAP, table_map(table, table_id))

    def rows(self, kind: int, columns: int, rows: bytes, table_id: int = 1, flags: int = 1) -> Self:
        images = 2 if kind in (event_types.UPDATE_ROWS, event_types.UPDATE_ROWS_V1) else 1
        extra = b"\x02\x00" if kind >= event_types.WRITE_ROWS else b""
        present = b"\xff" * ((columns + 7) // 8 * images)
        body = table_id.to_bytes(6, "little") + struct.pack("<H", flags) + extra + bytes((columns,)) + present + rows
        return self.add(kind, body)

    def xid(self) -> Self:
        return self.add(event_types.XID, bytes(8))

    def insert(self, number: int, *values: int) -> Self:
        """A transaction that inserts these ids into shop.t."""
        self.gtid(number).query("BEGIN").map(IDS)
        return self.rows(
            event_types.WRITE_ROWS, 1, b"".join(b"\0" + struct.pack("<i", value) for value in values)
        ).xid()

    def rotate(self, file: str, offset: int = 4) -> Self:
        return self.add(event_types.ROTATE, struct.pack("<Q", offset) + file.encode())

    @property
    def raw(self) -> bytes:
        return b"".join(self.parts)


def packets(raw: bytes) -> bytes:
    """The events of a file (without its magic) as the server streams them."""
    out, at, number = [], 0, 1
    while at < len(raw):
        size = struct.unpack_from("<I", raw, at + 9)[0]
        payload = b"\0" + raw[at : at + size]
        while True:
            piece, payload = payload[:0xFFFFFF], payload[0xFFFFFF:]
            out.append(len(piece).to_bytes(3, "little") + bytes((number % 256,)) + piece)
            number += 1
            if len(piece) < 0xFFFFFF:
                break
        at += size
    return b"".join(out)


def lenenc(number: int) -> bytes:
    if number < 251:
        return bytes((number,))
    return b"\xfc" + struct.pack("<H", number) if number < 1 << 16 else b"\xfe" + struct.pack("<Q", number)


def payload(body: bytes, *, size: int = -1, compression: int = 0, uncompressed: int = -1) -> bytes:
    """The body of a TRANSACTION_PAYLOAD event with these events inside; sizes other than the right ones to lie."""
    packed = zstandard.compress(body) if compression == 0 else body
    fields = [
        (2, lenenc(compression)),
        (3, lenenc(len(body) if uncompressed < 0 else uncompressed)),
        (1, lenenc(len(packed) if size < 0 else size)),
    ]
    return b"".join(lenenc(kind) + lenenc(len(value)) + value for kind, value in fields) + b"\0" + packed


def compressed(raw: bytes) -> bytes:
    """A file (without its magic) as if its transactions had been compressed."""
    checksum = raw[raw[9] + (raw[10] << 8) - 5] == 1
    out, at, place = [], 4, 0
    groups: list[list[tuple[int, int, int, bytes]]] = []  # (type, timestamp, flags, body)
    inside = False
    while place < len(raw):
        ts, kind, _, size, _, flags = struct.unpack_from("<IBIIIH", raw, place)
        has_sum = checksum or kind == event_types.FORMAT_DESCRIPTION
        body = raw[place + 19 : place + size - 4 * has_sum]
        ends = kind in (event_types.GTID, event_types.GTID_TAGGED, event_types.ANONYMOUS_GTID, event_types.ROTATE)
        begins = not inside and kind == event_types.QUERY and body.endswith((b"\0BEGIN", b"\0XA START X'7831',X'',1"))
        inside = (inside and not ends) or begins
        if inside and not begins:
            groups[-1].append((kind, ts, flags, body))
        else:
            groups.append([(kind, ts, flags, body)])
        place += size
    for group in groups:
        kind, ts, flags, body = group[0]
        if len(group) > 1:
            inner = b"".join(event(k, b, ts=t, flags=f, checksum=False, end=0) for k, t, f, b in group)
            kind, flags, body = event_types.TRANSACTION_PAYLOAD, 0, payload(inner)
        has_sum = checksum or kind == event_types.FORMAT_DESCRIPTION
        out.append(event(kind, body, at=at, ts=ts, flags=flags, checksum=has_sum))
        at += len(out[-1])
    return b"".join(out)


def zip_part(raw: bytes) -> bytes:
    """As log_bin_compress does: width and length of what it was, zlib."""
    width = max(1, (len(raw).bit_length() + 7) // 8)
    return bytes((0x80 | width,)) + len(raw).to_bytes(width, "big") + zlib.compress(raw)


def zipped(raw: bytes) -> bytes:
    """A file of MariaDB's (without its magic, with checksums) as if every event that can be had been compressed."""
    out, at, place = [], 4, 0
    while place < len(raw):
        ts, kind, _, size, _, flags = struct.unpack_from("<IBIIIH", raw, place)
        body = raw[place + 19 : place + size - 4]
        place += size
        if kind == event_types.QUERY:
            text = 13 + int.from_bytes(body[11:13], "little") + body[8] + 1
            kind, body = event_types.MARIADB_QUERY_COMPRESSED, body[:text] + zip_part(body[text:])
        elif event_types.WRITE_ROWS_V1 <= kind <= event_types.DELETE_ROWS_V1:
            rows = 9 + (body[8] + 7) // 8 * (1 + (kind == event_types.UPDATE_ROWS_V1))
            kind += event_types.MARIADB_WRITE_ROWS_COMPRESSED_V1 - event_types.WRITE_ROWS_V1
            body = body[:rows] + zip_part(body[rows:])
        out.append(event(kind, body, at=at, ts=ts, flags=flags))
        at += len(out[-1])
    return b"".join(out)


def table_map(table: Table, table_id: int = 1) -> bytes:
    """A TABLE_MAP body with names, signs and the primary key."""
    columns = table.columns
    count = len(columns)
    meta = b"".join(_meta(column) for column in columns)
    nullable = sum(1 << column.index for column in columns if column.nullable)
    names = b"".join(lenenc(len(name)) + name for name in (column.name.encode() for column in columns))
    numeric = [
        c for c in columns if c.type in types.INTEGERS | {types.FLOAT, types.DOUBLE, types.NEWDECIMAL, types.YEAR}
    ]
    signs = bytearray((len(numeric) + 7) // 8)
    for place, column in enumerate(numeric):
        signs[place >> 3] |= column.unsigned * 0x80 >> (place & 7)
    key = b"".join(lenenc(index) for index in table.primary_key)
    fields = [(4, names)] + [(1, bytes(signs))] * bool(numeric) + [(8, key)] * bool(key)
    identity = b"".join(bytes((len(name),)) + name + b"\0" for name in (table.database.encode(), table.name.encode()))
    return (
        table_id.to_bytes(6, "little")
        + b"\x01\x00"
        + identity
        + lenenc(count)
        + bytes(column.type for column in columns)
        + lenenc(len(meta))
        + meta
        + nullable.to_bytes((count + 7) // 8, "little")
        + b"".join(bytes((kind,)) + lenenc(len(value)) + value for kind, value in fields)
    )


def _meta(column: Column) -> bytes:
    if column.type in (types.VARCHAR, types.BIT):
        return struct.pack("<H", column.meta)
    if column.type == types.STRING:
        return bytes((types.STRING ^ (column.meta & 0x300) >> 4, column.meta & 0xFF))
    if column.type == types.NEWDECIMAL:
        return struct.pack(">H", column.meta)
    if column.type in (types.BLOB, types.FLOAT, types.DOUBLE, types.DATETIME2, types.TIMESTAMP2, types.TIME2):
        return bytes((column.meta,))
    return b""


IDS = Table("shop", "t", (Column(0, "id", types.LONG, nullable=False),), (0,))


def hexadecimal(name: str, column: Column, table: Table) -> Rendering:
    """Renderers for tests. "int": decimal; "hex", "hex2": the value's bytes as a JSON string, "hex2" by
    way of a number, big-endian in every other column; "text": as it is."""
    size = fixed_size(column)
    if name == "int":
        return Rendering("<i", 'f"{v}"')
    if size is None:
        return Rendering("text", "f'\"{v}\"'") if name == "text" else Rendering("bytes", "f'\"{v.hex()}\"'")
    if name == "hex2" and size in CUTS:
        made = f"hexed_{column.index}"
        cut, order = (CUTS[size], "little") if column.index % 2 else (CUTS[size].replace("<", ">"), "big")
        return Rendering(cut, f"{made}(v)", {made: lambda v: f'"{v.to_bytes(size, order).hex()}"'})
    return Rendering(f"<{size}s", "'\"' + v.hex() + '\"'")


def plan(table: Table, *, keys: Sequence[int] | None = None, renderer: str = "hex") -> TablePlan:
    """insert/update: one record with every column; delete: with tombstone; rekey: two."""

    def template(columns: Sequence[int], image: Image) -> Template:
        steps: list[Step] = [Text("[")]
        for place, index in enumerate(columns):
            steps += [Text("," * bool(place)), Value(index, image, renderer)]
        return (*steps, Text("]"))

    every = range(len(table.columns))
    keys = table.primary_key if keys is None else keys
    old, new = (template(keys, "before"), template(keys, "after")) if keys else (None, None)
    after, before = template(every, "after"), template(every, "before")
    both = (Text("u"), *before, *after, Text("#"), Var("row"))
    return TablePlan(
        topic=table.qualified,
        insert=(RecordPlan(new, after),),
        update=(RecordPlan(new, both),),
        delete=(RecordPlan(old, before), RecordPlan(old, None)),
        rekey=(RecordPlan(old, None, (("moved", new),)), RecordPlan(new, after)) if old and new else None,
        keys=tuple(keys),
    )


def shop(table: Table) -> TablePlan | None:
    return plan(table) if table.database == "shop" else None


def server_error(errno: int, state: str, message: str) -> SourceError:
    return SourceError("E2211", f"{errno} {state} {message}")


def decoder(
    *,
    position: Position | None = None,
    flavor: Flavor = "mysql",
    framing: Literal["packet", "file"] = "file",
    planner: Planner = shop,
    **options: Any,
) -> BinlogDecoder:
    return BinlogDecoder(
        planner,
        position=position or Position("binlog.000001", 4),
        flavor=flavor,
        framing=framing,
        server_error=server_error,
        rendering=hexadecimal,
        clock=lambda: 1_000_000_000,
        **options,
    )


def records(batches: Sequence[Batch]) -> list[Record]:
    return [record for batch in batches for record in batch.records]


def ids(batches: Sequence[Batch]) -> list[tuple[int, int]]:
    """The inserted ids, by their hex, and the row indexes."""
    return [
        (int.from_bytes(bytes.fromhex((record[2] or b"")[2:-2].decode()), "little"), record[4])
        for record in records(batches)
    ]


def row(value: int) -> bytes:
    return b"\0" + struct.pack("<i", value)


def fails(log: Log | bytes, code: str, **options: Any) -> SourceError:
    """The error of the stream, which stands: it is raised again."""
    made = decoder(**options)
    with pytest.raises(SourceError) as caught:
        for _ in range(2):
            made.feed(log.raw if isinstance(log, Log) else log)
            log = b""
    assert caught.value.code == code
    with pytest.raises(SourceError):
        made.feed(b"")
    return caught.value
