"""Records for database sinks, cut from the binlog files of a real server by nothing but the layout of its events."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

import msgspec

from dev.servers import Database
from replicator import compiled
from replicator.decode.binlog import table_map
from replicator.model import column_sizes
from replicator.model.batch import Batch, Record
from replicator.model.packed_records import Block, PackedRecords
from replicator.model.position import Position
from replicator.model.table import Column, Table
from replicator.model.target_table import TargetTable, TargetTables

_TABLE_MAP, _XID, _QUERY = 19, 16, 2
_UNCHECKED = 0x12  # flags: foreign_key_checks = 0; what foreign keys cascade to is in the log
_OPERATIONS = {23: b"I", 24: b"U", 25: b"D", 30: b"I", 31: b"U", 32: b"D"}


class Reader:
    """Reads what a server has logged since it was made, or since the last call."""

    def __init__(self, server: Database, tables: TargetTables, database: str, target: str = "") -> None:
        self._server, self._tables, self._database, self._target = server, tables, database, target or database
        self._file, self._at = server.end_of_log()
        checksum = server.execute("SELECT @@GLOBAL.binlog_checksum")[0][0]
        self._tail = 0 if checksum == "NONE" else 4

    def batches(self) -> list[Batch]:
        """One for each transaction with rows of the database."""
        data = (self._server.folder / "data" / self._file).read_bytes()
        found, records = [], list[Record]()
        maps: dict[bytes, Table] = {}
        while self._at < len(data):
            kind, size = data[self._at + 4], struct.unpack_from("<I", data, self._at + 9)[0]
            body = data[self._at + 19 : self._at + size - self._tail]
            begin, self._at = self._at, self._at + size
            if kind == _TABLE_MAP:
                maps[body[:6]] = table_map.parse(body[6:], mariadb=self._server.release.flavour == "mariadb").table
            elif kind in _OPERATIONS:
                table = maps[body[:6]]
                if table.database == self._database:
                    records += self._records(kind, body, table, begin, len(records))
            elif (kind == _XID or (kind == _QUERY and b"COMMIT" in body[-6:])) and records:
                size = sum(len(record[2] or b"") for record in records)
                found.append(
                    Batch(records, Position(self._file, self._at), True, len(records), transactions=1, size=size)
                )
                records = []
        return found

    def _records(self, kind: int, body: bytes, table: Table, begin: int, row: int) -> Iterator[Record]:
        at = 10 if kind >= 30 else 8
        mark = b"F" if body[6] & _UNCHECKED else b""
        count = body[at]
        operation = _OPERATIONS[kind]
        widths = (count + 7) // 8
        assert count == len(table.columns), "tables of the tests are small"
        at += 1 + widths * (2 if operation == b"U" else 1)
        name = self._tables.name(target_of(table, self._target))
        while at < len(body):
            end = image_end(table.columns, body, at)
            value = operation + body[at:end]
            if operation == b"U":
                after = image_end(table.columns, body, end)
                value = operation + struct.pack("<I", end - at) + body[at:after]
                end = after
            yield (name, None, mark + value, f"{self._file}:{begin}".encode(), row, ())
            at, row = end, row + 1


def target_of(table: Table, database: str = "") -> TargetTable:
    return TargetTable(
        database or table.database, table.name, table.columns, table.primary_key, table.mariadb, table.qualified
    )


def image_end(columns: Sequence[Column], data: bytes, at: int) -> int:
    """Behind the image that begins at `at`."""
    nulls = int.from_bytes(data[at : at + (len(columns) + 7) // 8], "little")
    at += (len(columns) + 7) // 8
    for index, column in enumerate(columns):
        if nulls >> index & 1:
            continue
        size = column_sizes.fixed_size(column)
        if size is None:
            prefix = column_sizes.prefix_size(column)
            size = prefix + int.from_bytes(data[at : at + prefix], "little")
        at += size
    return at


def joined(batches: Sequence[Batch]) -> Batch:
    """All of them as one transaction."""
    records = [record for batch in batches for record in batch.records]
    return msgspec.structs.replace(batches[-1], records=records, rows=len(records))


def packed(batches: Sequence[Batch]) -> Batch:
    """All of them as one transaction, as the compiled decoder makes it: in an arena each."""
    blocks: list[Block] = []
    for batch in batches:
        arena = compiled.module("arena").Arena()
        for record in batch.records:
            arena(record)
        blocks.append((arena, 0, len(batch.records)))
    records = PackedRecords(tuple(blocks))
    return msgspec.structs.replace(batches[-1], records=records, rows=len(records))
