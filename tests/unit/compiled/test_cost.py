"""What the compiled path may cost Python: nothing per row, next to nothing per transaction."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from replicator import compiled
from replicator.decode.native.compiled_decoder import CompiledDecoder
from replicator.model.packed_records import PackedRecords
from replicator.model.position import Position
from replicator.sink.kafka.records import Stamp
from tests.unit.compiled import both as pair

_TABLE_MAP, _WRITE_ROWS, _GTID, _QUERY, _XID = 19, 30, 33, 2, 16
ROWS = 10_000
PER_ROW = 16
"""Bytes; no Python object is as small."""


def stream(transactions: int, rows: int) -> tuple[bytes, bytes]:
    """(what comes first: a transaction of each kind, so that everything is made; transactions of so many inserts)"""
    path = next(path for path in pair.recordings() if path.name.startswith("mysql_orders"))
    every = pair.events(pair.read(path))
    kinds = [event[4] for event in every]
    at = kinds.index(_WRITE_ROWS)
    begin, row, end = every[at - 3 : at - 1], every[at - 1 : at + 1], every[at + 1]
    assert [event[4] for event in (*begin, *row, end)] == [_GTID, _QUERY, _TABLE_MAP, _WRITE_ROWS, _XID]
    first = every[:-1] if every[-1][4] == 4 else every
    more = [event for n in range(transactions) for event in (_numbered(begin[0], n), begin[1], *row * rows, end)]
    whole = pair.without_checksums([*first, *more])
    return b"".join(whole[: len(first)]), b"".join(whole[len(first) :])


def _numbered(gtid: bytes, number: int) -> bytes:
    """Behind the header: flags 1, UUID 16, number 8."""
    return gtid[:36] + (1_000_000 + number).to_bytes(8, "little") + gtid[44:]


def peak(transactions: int, rows: int, form: str) -> tuple[int, int]:
    """(bytes that Python took at most, rows)"""
    before, data = stream(transactions, rows)
    decoder = pair.decoder(CompiledDecoder, form, "mysql", "file", Position("binlog.000001", 4))
    decoder.feed(before)
    tracemalloc.start()
    try:
        (batch,) = decoder.feed(data)
        written = encoded(batch.records)
        return tracemalloc.get_traced_memory()[1], batch.rows * (written > 0)
    finally:
        tracemalloc.stop()


def encoded(records: Any) -> int:
    assert isinstance(records, PackedRecords)
    batches = compiled.module("kafka").Batches(Stamp("t", 1).prefix)
    limits = [(4, 0, 1 << 19, 1 << 20) for _ in batches.names(records.blocks)]
    return sum(body.count for _, _, body in batches.encode(records.blocks, limits))


@pytest.mark.parametrize("form", pair.FORMATS)
def test_no_object_per_row(form: str) -> None:
    taken, rows = peak(1, ROWS, form)
    assert rows == ROWS
    assert taken < 64_000 + ROWS * PER_ROW / 10


@pytest.mark.parametrize("form", pair.FORMATS)
def test_no_object_per_transaction(form: str) -> None:
    taken, rows = peak(ROWS, 1, form)
    assert rows == ROWS
    assert taken < 64_000 + ROWS * PER_ROW / 10
