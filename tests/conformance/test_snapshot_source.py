"""What the pipeline relies on in every source of snapshots: memory twin, MySQL and MariaDB."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Mapping

import msgspec
import pytest

from replicator.errors import SourceUnavailable
from replicator.model.position import Position
from replicator.model.snapshot import OpenTable
from replicator.pipeline.ports import Chunk, SnapshotReader, TableChanged
from tests.conformance.snapshot_rigs import Memory, Real, Rig, Row


@pytest.fixture(params=["memory", "mysql", "mariadb"])
def rig(request: pytest.FixtureRequest) -> Iterator[Rig]:
    if request.param == "memory":
        yield Memory()
        return
    rig = Real(request.getfixturevalue(request.param))
    try:
        yield rig
    finally:
        rig.server.execute(f"DROP DATABASE {rig.database}")


@contextlib.contextmanager
def opened(rig: Rig, where: Mapping[str, str] | None = None) -> Iterator[SnapshotReader]:
    reader = rig.source(where).open(rig.position().server)
    try:
        yield reader
    finally:
        reader.close()


def begun(reader: SnapshotReader, table: str) -> OpenTable:
    found = reader.begin(table)
    assert found is not None
    return found


def after(table: OpenTable, chunk: Chunk) -> OpenTable:
    """Once `chunk` has been delivered."""
    return msgspec.structs.replace(
        table,
        done=chunk.last or table.done,
        rows=table.rows + len(chunk.images),
        size=table.size + len(chunk.images.data),
        chunks=table.chunks + 1,
    )


def walk(
    rig: Rig, reader: SnapshotReader, table: OpenTable, most: int, passed: Position | None = None
) -> Iterator[tuple[OpenTable, Chunk]]:
    """Each chunk, and the table once it is delivered. `passed`: by the stream; None: all."""
    while True:
        chunk = reader.read(table, most, passed or rig.position())
        table = after(table, chunk)
        yield table, chunk
        if chunk.final:
            return
        assert table.chunks < 1000


def values(chunk: Chunk) -> list[tuple[int | str | None, ...]]:
    """Rows with as many columns as the table map has."""
    place = 8 + 1 + chunk.table_map[8] + 1
    columns = chunk.table_map[place + 1 + chunk.table_map[place] + 1]
    found, start = [], 0
    for end in chunk.images.ends:
        image, start = chunk.images.data[start:end], end
        size = image[5]
        row: list[int | str | None] = [int.from_bytes(image[1:5], "little", signed=True), image[6 : 6 + size].decode()]
        rest = image[6 + size :]
        if image[0] & 4:
            row.append(None)
        numbers = [int.from_bytes(rest[at : at + 4], "little", signed=True) for at in range(0, len(rest), 4)]
        row += numbers
        assert len(row) == columns
        found.append(tuple(row))
    return found


def everything(rig: Rig, reader: SnapshotReader, table: str, most: int) -> list[tuple[int | str | None, ...]]:
    return [row for _, chunk in walk(rig, reader, begun(reader, rig.name(table)), most) for row in values(chunk)]


ROWS: list[Row] = [(number, f"name {number % 4}", None if number % 3 else number) for number in (-5, 1, 2, 3, 90, 1000)]


def test_tables_are_those_of_the_task_in_byte_order(rig: Rig) -> None:
    for name in ("b", "a_b", "aa", "a"):
        rig.create(name)
    with opened(rig) as reader:
        assert [size.table for size in reader.tables()] == [rig.name(name) for name in ("a", "a_b", "aa", "b")]


def test_the_load_is_that_of_the_server(rig: Rig) -> None:
    with opened(rig) as reader:
        assert 1 <= reader.load(0) < 1000


@pytest.mark.parametrize("most", [1, 2, 5, 6, 100])
def test_every_row_once_in_the_order_of_the_key(rig: Rig, most: int) -> None:
    rig.create("t")
    rig.insert("t", ROWS)
    with opened(rig) as reader:
        assert everything(rig, reader, "t", most) == ROWS


@pytest.mark.parametrize("most", [1, 2, 100])
def test_composite_keys(rig: Rig, most: int) -> None:
    rig.create("t", ("b", "a"))
    rig.insert("t", ROWS)
    with opened(rig) as reader:
        assert begun(reader, rig.name("t")).key == ("b", "a")
        assert everything(rig, reader, "t", most) == sorted(ROWS, key=lambda row: (row[1], row[0]))


def test_no_chunk_is_longer_than_asked_and_each_ends_at_its_last_row(rig: Rig) -> None:
    rig.create("t")
    rig.insert("t", ROWS)
    with opened(rig) as reader:
        table = begun(reader, rig.name("t"))
        limit = table.limit
        chunks = [chunk for _, chunk in walk(rig, reader, table, 4)]
    assert [len(chunk.images) for chunk in chunks] == [4, 2]
    assert [chunk.final for chunk in chunks] == [False, True]
    assert chunks[-1].last == limit
    assert chunks[0].last not in (None, limit)


def test_a_table_whose_rows_fill_its_chunks_ends_with_the_last_row(rig: Rig) -> None:
    rig.create("t")
    rig.insert("t", ROWS)
    with opened(rig) as reader:
        chunks = [chunk for _, chunk in walk(rig, reader, begun(reader, rig.name("t")), 3)]
    assert [(len(chunk.images), chunk.final) for chunk in chunks] == [(3, False), (3, True)]


def test_one_row(rig: Rig) -> None:
    rig.create("t")
    rig.insert("t", ROWS[:1])
    with opened(rig) as reader:
        assert everything(rig, reader, "t", 10) == ROWS[:1]


@pytest.mark.parametrize("key", [("a",), ()])
def test_an_empty_table_has_one_chunk_without_rows(rig: Rig, key: tuple[str, ...]) -> None:
    rig.create("t", key)
    with opened(rig) as reader:
        table = begun(reader, rig.name("t"))
        assert table.limit is None
        chunk = reader.read(table, 10, rig.position())
    assert (len(chunk.images), chunk.final, chunk.last) == (0, True, None)


def test_rows_behind_the_limit_are_left_to_the_stream(rig: Rig) -> None:
    rig.create("t")
    rig.create("empty")
    rig.insert("t", ROWS)
    with opened(rig) as reader:
        table, empty = begun(reader, rig.name("t")), begun(reader, rig.name("empty"))
        rig.insert("t", [(1001, "later", 1), (4, "between", 1)])
        rig.insert("empty", ROWS)
        found = [row for _, chunk in walk(rig, reader, table, 4) for row in values(chunk)]
        chunk = reader.read(empty, 10, rig.position())
        assert (len(chunk.images), chunk.final) == (0, True)
    assert found == sorted([*ROWS, (4, "between", 1)])


def test_the_row_of_the_limit_may_go(rig: Rig) -> None:
    rig.create("t")
    rig.insert("t", ROWS)
    with opened(rig) as reader:
        table = begun(reader, rig.name("t"))
        rig.delete("t", 1000)
        found = [row for _, chunk in walk(rig, reader, table, 3) for row in values(chunk)]
    assert found == ROWS[:-1]


def test_another_reader_goes_on_behind_what_was_delivered(rig: Rig) -> None:
    rig.create("t")
    rig.insert("t", ROWS)
    with opened(rig) as reader:
        table, first = next(walk(rig, reader, begun(reader, rig.name("t")), 2))
    with opened(rig) as reader:
        found = [row for _, chunk in walk(rig, reader, table, 3) for row in values(chunk)]
    assert values(first) + found == ROWS


def test_a_chunk_can_be_read_again(rig: Rig) -> None:
    rig.create("t")
    rig.insert("t", ROWS)
    with opened(rig) as reader:
        table = begun(reader, rig.name("t"))
        first = reader.read(table, 2, rig.position())
        rig.delete("t", -5)
        again = reader.read(table, 2, rig.position())
    assert values(first) == ROWS[:2]
    assert values(again) == ROWS[1:3]


def test_high_is_behind_what_was_committed_before(rig: Rig) -> None:
    rig.create("t")
    rig.insert("t", ROWS)
    with opened(rig) as reader:
        passed = rig.position()
        chunk = reader.read(begun(reader, rig.name("t")), 10, passed)
        assert chunk.high.order >= passed.order
        assert chunk.high.log == passed.log
        assert passed.server.startswith(chunk.high.server)
        rig.insert("t", [(2000, "x", 1)])
        later = reader.read(begun(reader, rig.name("t")), 10, passed)
        assert later.high.order >= rig.position().order > chunk.high.order
        assert later.time_s >= chunk.time_s > time.time() - 600


def test_what_the_stream_has_passed_is_seen(rig: Rig) -> None:
    rig.create("t")
    rig.insert("t", ROWS)
    with opened(rig) as reader:
        for number in range(20):
            rig.insert("t", [(-100 - number, "x", 1)])
            chunk = reader.read(begun(reader, rig.name("t")), 1, rig.position())
            assert values(chunk)[0][0] == -100 - number


def test_no_such_table(rig: Rig) -> None:
    with opened(rig) as reader:
        assert reader.begin(rig.name("missing")) is None


def test_a_table_that_is_gone(rig: Rig) -> None:
    rig.create("t")
    rig.insert("t", ROWS)
    with opened(rig) as reader:
        table, _ = next(walk(rig, reader, begun(reader, rig.name("t")), 2))
        rig.drop("t")
        with pytest.raises(TableChanged):
            reader.read(table, 2, rig.position())
        assert reader.begin(rig.name("t")) is None
        rig.create("t")
        rig.insert("t", ROWS)
        assert everything(rig, reader, "t", 4) == ROWS


def test_another_key(rig: Rig) -> None:
    rig.create("t")
    rig.insert("t", ROWS)
    with opened(rig) as reader:
        table, _ = next(walk(rig, reader, begun(reader, rig.name("t")), 2))
        rig.change_key("t", ("b", "a"))
        with pytest.raises(TableChanged):
            reader.read(table, 2, rig.position())
    with opened(rig) as reader, pytest.raises(TableChanged):
        reader.read(table, 2, rig.position())


def test_another_key_that_another_reader_has_noticed(rig: Rig) -> None:
    """This one remembers the former key."""
    rig.create("t")
    rig.insert("t", ROWS)
    with opened(rig) as reader, opened(rig) as other:
        other.read(begun(reader, rig.name("t")), 2, rig.position())
        rig.change_key("t", ("b", "a"))
        table = begun(reader, rig.name("t"))
        assert len(other.read(table, 10, rig.position()).images) == len(ROWS)


def test_a_chunk_has_one_definition(rig: Rig) -> None:
    rig.create("t")
    rig.insert("t", ROWS)
    with opened(rig) as reader:
        table, first = next(walk(rig, reader, begun(reader, rig.name("t")), 2))
        rig.add_column("t")
        rest = [row for _, chunk in walk(rig, reader, table, 3) for row in values(chunk)]
    assert values(first) == ROWS[:2]
    assert rest == [(*row, 7) for row in ROWS[2:]]


def test_a_condition_leaves_rows_out(rig: Rig) -> None:
    for name in ("t", "other"):
        rig.create(name)
        rig.insert(name, ROWS)
    with opened(rig, {rig.name("t"): "v IS NULL"}) as reader:
        assert everything(rig, reader, "t", 2) == [row for row in ROWS if row[2] is None]
        assert everything(rig, reader, "other", 2) == ROWS


@pytest.mark.parametrize("key", [("a",), ("b", "a")])
@pytest.mark.parametrize("rows", [1, 2, 4, 6, 100])
def test_ranges_by_the_key_alone(rig: Rig, rows: int, key: tuple[str, ...]) -> None:
    """They can be read in any order, and by another reader than the one that has cut them."""
    rig.create("t", key)
    rig.insert("t", ROWS)
    with opened(rig) as reader, opened(rig) as other:
        table, ranges = begun(reader, rig.name("t")), []
        while (end := reader.cut(table, rows)) is not None:
            ranges.append((table, end))
            table = msgspec.structs.replace(table, done=end, chunks=table.chunks + 1)
        assert len(ranges) == (len(ROWS) - 1) // rows
        rest = other.read(table, 100, rig.position())
        assert rest.final and len(rest.images) == len(ROWS) - len(ranges) * rows
        found = values(rest)
        for part, end in reversed(ranges):
            chunk = other.read(part, 100, rig.position(), end)
            assert (len(chunk.images), chunk.last, chunk.final) == (rows, end, False)
            found = values(chunk) + found
        assert found == (ROWS if key == ("a",) else sorted(ROWS, key=lambda row: (row[1], row[0])))


def test_a_range_with_more_rows_than_wanted_is_read_in_parts(rig: Rig) -> None:
    rig.create("t")
    rig.insert("t", ROWS)
    with opened(rig) as reader:
        table = begun(reader, rig.name("t"))
        end = reader.cut(table, 4)
        first = reader.read(table, 3, rig.position(), end)
        assert first.last != end and not first.final and len(first.images) == 3
        second = reader.read(after(table, first), 3, rig.position(), end)
        assert second.last == end and not second.final
        assert values(first) + values(second) == ROWS[:4]


def test_a_range_without_rows_is_read(rig: Rig) -> None:
    """All of them are deleted, or a condition wants none."""
    rig.create("t")
    rig.insert("t", ROWS)
    with opened(rig) as reader:
        table = begun(reader, rig.name("t"))
        end = reader.cut(table, 2)
        for row in ROWS[:2]:
            rig.delete("t", row[0])
        chunk = reader.read(table, 10, rig.position(), end)
        assert (len(chunk.images), chunk.last, chunk.final) == (0, end, False)


def test_an_empty_table_has_no_cut(rig: Rig) -> None:
    rig.create("t")
    with opened(rig) as reader:
        assert reader.cut(begun(reader, rig.name("t")), 1) is None


def test_no_range_of_another_key(rig: Rig) -> None:
    rig.create("t")
    rig.insert("t", ROWS)
    with opened(rig) as reader:
        table = begun(reader, rig.name("t"))
        rig.change_key("t", ("b", "a"))
        with pytest.raises(TableChanged):
            reader.cut(table, 2)
        rig.drop("t")
        with pytest.raises(TableChanged):
            reader.cut(table, 2)


def test_a_condition_that_wants_few_rows_is_asked_for_one_part_of_the_table_at_a_time(rig: Rig) -> None:
    """So that the progress moves on, and no SELECT takes as long as all of the table."""
    rig.create("t")
    rig.insert("t", [(number, "x", 1 if number != 37 else None) for number in range(50)])
    with opened(rig, {rig.name("t"): "v IS NULL"}) as reader:
        chunks = [chunk for _, chunk in walk(rig, reader, begun(reader, rig.name("t")), 10)]
        assert [len(chunk.images) for chunk in chunks] == [0, 0, 0, 1, 0]
        assert [chunk.covered for chunk in chunks[:4]] == [10] * 4
        assert len({chunk.last for chunk in chunks[:4]}) == 4


def test_a_table_without_a_key_is_read_in_one_view(rig: Rig) -> None:
    rig.create("t", ())
    rig.insert("t", ROWS)
    with opened(rig) as reader:
        found, ends = [], []
        for number, (table, chunk) in enumerate(walk(rig, reader, begun(reader, rig.name("t")), 2)):
            assert (table.key, table.limit, chunk.last) == ((), None, None)
            found += values(chunk)
            ends.append(chunk.high.order)
            rig.insert("t", [(5000 + number, "later", 1)])
    assert sorted(found) == ROWS
    assert len(ends) == 3


def test_a_table_without_a_key_begins_again_in_another_reader(rig: Rig) -> None:
    rig.create("t", ())
    rig.insert("t", ROWS)
    with opened(rig) as reader:
        table, _ = next(walk(rig, reader, begun(reader, rig.name("t")), 2))
        with pytest.raises(TableChanged):
            reader.read(msgspec.structs.replace(table, chunks=5), 2, rig.position())
    with opened(rig) as reader:
        with pytest.raises(TableChanged):
            reader.read(table, 2, rig.position())
        assert sorted(everything(rig, reader, "t", 2)) == ROWS


def test_another_table_can_be_read_in_between(rig: Rig) -> None:
    rig.create("t", ())
    rig.create("u")
    rig.insert("t", ROWS)
    rig.insert("u", ROWS)
    with opened(rig) as reader:
        table, _ = next(walk(rig, reader, begun(reader, rig.name("t")), 2))
        assert everything(rig, reader, "u", 2) == ROWS
        with pytest.raises(TableChanged):
            reader.read(table, 2, rig.position())


def test_close_ends_a_read_from_another_thread(rig: Rig) -> None:
    rig.create("t")
    rig.insert("t", ROWS)
    reader = rig.source().open("")
    table, passed = begun(reader, rig.name("t")), rig.position()
    ended: list[BaseException] = []

    def read() -> None:
        try:
            reader.read(table, 10, passed)
        except BaseException as error:
            ended.append(error)

    with rig.stall("t"):
        thread = threading.Thread(target=read)
        thread.start()
        time.sleep(0.3)
        assert thread.is_alive()
        reader.close()
        thread.join(20)
        assert not thread.is_alive()
    assert isinstance(ended[0], SourceUnavailable)


def test_a_closed_reader_can_not_be_read_and_can_be_closed_again(rig: Rig) -> None:
    rig.create("t")
    reader = rig.source().open("")
    table = begun(reader, rig.name("t"))
    reader.close()
    reader.close()
    for call in (
        reader.tables,
        lambda: reader.begin(rig.name("t")),
        lambda: reader.cut(table, 1),
        lambda: reader.read(table, 1, rig.position()),
    ):
        with pytest.raises(SourceUnavailable):
            call()


def test_a_connection_that_is_cut_is_a_transient_error(rig: Rig) -> None:
    rig.create("t")
    rig.insert("t", ROWS)
    with opened(rig) as reader:
        table, _ = next(walk(rig, reader, begun(reader, rig.name("t")), 2))
        rig.disconnect()
        with pytest.raises(SourceUnavailable):
            reader.read(table, 2, Position("binlog.000001", 4))
    with opened(rig) as reader:
        assert [row for _, chunk in walk(rig, reader, table, 3) for row in values(chunk)] == ROWS[2:]


def test_another_server_is_not_taken(rig: Rig) -> None:
    with pytest.raises(SourceUnavailable) as raised:
        rig.source().open("another server@5")
    assert raised.value.transient
