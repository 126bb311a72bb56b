"""Sizes of chunks by bytes and time, and the limit of rows per second."""

from __future__ import annotations

import pytest

from replicator.model.position import Position
from replicator.model.snapshot import RowImages
from replicator.pipeline.ports import Chunk
from replicator.pipeline.snapshot.chunk_sizes import BUDGET_BYTES, ChunkSizes, Throttle

MB = 1 << 20


def chunk(rows: int, size: int, seconds: float, covered: int = 0) -> Chunk:
    images = RowImages(bytes(size), range(rows))
    return Chunk(b"", images, Position("log.000001", 4), None, False, 0, covered, seconds)


def grown(sizes: ChunkSizes, size: int, rows_per_s: float, matching: int = 1) -> int:
    """Rows of a chunk once they do not change any more. Every `matching`-th row is wanted."""
    for _ in range(20):
        asked = sizes.rows
        rows = asked // matching
        sizes.read(chunk(rows, rows * size, asked / rows_per_s, asked))
    return sizes.rows


@pytest.mark.parametrize("connections", [1, 4, 16])
def test_short_rows_that_come_fast_are_bounded_by_bytes(connections: int) -> None:
    sizes = ChunkSizes(1_000_000, connections=connections)
    rows = grown(sizes, 100, 10_000_000)
    assert rows * 100 <= 2 * MB and (connections + 1) * rows * 100 <= BUDGET_BYTES
    assert rows * 100 > min(2 * MB, BUDGET_BYTES / (connections + 1)) * 0.9


@pytest.mark.parametrize("matching", [1, 1_000, 1_000_000])
def test_rows_that_come_slowly_are_bounded_by_time(matching: int) -> None:
    """Also where a condition wants few of them, or none."""
    sizes = ChunkSizes(1_000_000)
    assert grown(sizes, 100, 2_000, matching) == pytest.approx(1_000, rel=0.01)


def test_a_condition_that_wants_few_rows_is_bounded_by_rows() -> None:
    assert grown(ChunkSizes(50_000), 100, 10_000_000, 1_000) == 50_000


def test_the_seconds_of_finding_the_end_count() -> None:
    sizes = ChunkSizes(1_000_000)
    for _ in range(20):
        sizes.read(chunk(sizes.rows, sizes.rows, 0.0), seconds=sizes.rows / 2_000)
    assert sizes.rows == pytest.approx(1_000, rel=0.01)


def test_it_grows_by_steps_and_falls_at_once() -> None:
    sizes = ChunkSizes(1_000_000)
    before = sizes.rows
    sizes.read(chunk(before, before, 0.001))
    assert sizes.rows == 4 * before
    sizes.read(chunk(10, 20 * MB, 1.0))
    assert sizes.rows == 1


def test_long_rows_are_expected_where_the_source_says_so() -> None:
    sizes = ChunkSizes(1_000_000, row_bytes=64 * MB)
    assert sizes.rows == 1 and sizes.expected == 64 * MB


def test_a_long_row_is_expected_again_for_some_time() -> None:
    sizes = ChunkSizes(1_000_000)
    sizes.read(chunk(1, 64 * MB, 1.0))
    sizes.read(chunk(1, 100, 1.0))
    assert sizes.expected > BUDGET_BYTES


def test_nothing_was_found() -> None:
    sizes = ChunkSizes(100)
    sizes.read(chunk(0, 0, 0.0))
    assert sizes.rows == 100 and sizes.known


def test_rows_of_all_connections_count() -> None:
    slept: list[float] = []
    throttle = Throttle(100, slept.append)
    throttle.wait()
    assert slept == []
    for _ in range(4):
        throttle.spend(100)
    throttle.wait()
    assert 2.5 < slept[0] < 4.1


def test_no_limit() -> None:
    slept: list[float] = []
    throttle = Throttle(0, slept.append)
    throttle.spend(1_000_000)
    throttle.wait()
    assert slept == []
