"""Rows of a chunk become what the stream makes of the same rows, for every type, format and transform."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import reduce
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from replicator.config.transforms import Transforms
from replicator.decode.decoder import BinlogDecoder
from replicator.decode.native import row_programs
from replicator.decode.native.compiled_decoder import CompiledDecoder
from replicator.decode.native.row_functions import row_functions
from replicator.decode.native.row_programs import native_rows
from replicator.decode.plan.row_functions import PYTHON, RowFunctions
from replicator.decode.snapshot import chunk_decoder
from replicator.decode.snapshot.chunk_decoder import ChunkDecoder
from replicator.encode.avro.registry import Registry
from replicator.encode.topics import Topics
from replicator.errors import DecodeError
from replicator.model import types
from replicator.model.batch import Batch, Record
from replicator.model.packed_records import PackedRecords
from replicator.model.plan import Deferred, RecordPlan, TablePlan, Text
from replicator.model.position import Position
from replicator.model.snapshot import Marker, RowImages
from replicator.model.table import Column, Table
from replicator.pipeline.buffer import joined
from replicator.pipeline.ports import Planner
from replicator.transform.chain import Chain
from tests.unit.compiled import both as pair
from tests.unit.decode import binlog_writer as writer
from tests.unit.decode.snapshot.inserted import Inserted, inserted, of_ids

WHERE = Position("binlog.000001", 4)
KINDS = {"python": (BinlogDecoder, PYTHON), "compiled": (CompiledDecoder, row_functions())}
RECORDINGS = [path for path in pair.recordings() if any(True for _ in inserted(path))]
ALL: tuple[Marker, Marker, Marker] = ("true", "true", "true")
RULES: dict[str, Any] = {
    "filter": [{"tables": ["shop.t"], "where": "id > 1"}],
    "mask": [{"tables": ["shop.t"], "columns": ["name"], "fixed": "-"}],
    "columns": [{"tables": ["shop.t"], "exclude": ["da"]}],
    "rename": [{"tables": ["shop.t"], "columns": {"i": "number"}, "database": "store"}],
}


@pytest.fixture(autouse=True)
def ids(monkeypatch: pytest.MonkeyPatch) -> None:
    """A registry of Avro schemas."""
    book: dict[Any, int] = {}
    monkeypatch.setattr(Registry, "id", lambda self, *key: book.setdefault(key, 70_000 + len(book)))


@pytest.fixture(params=KINDS)
def functions(request: pytest.FixtureRequest) -> RowFunctions:
    return KINDS[request.param][1]


def planner(form: str, server: str, rules: dict[str, Any]) -> Planner:
    """Ordinary plans of inserts, but for what is known only at the end of a transaction."""
    made, topics = pair.format_of(form, server), Topics("{task}.{database}.{table}", "t")
    planned = Chain(Transforms.model_validate(rules)).planner(made.plan, topics)

    def of_inserts(table: Table) -> TablePlan | None:
        plan = planned(table)
        assert plan is not None
        insert = tuple(map(complete, plan.insert))
        return msgspec.structs.replace(plan, insert=insert, update=(), delete=(), rekey=None)

    return of_inserts


def complete(record: RecordPlan) -> RecordPlan:
    steps = tuple(Text("0") if isinstance(step, Deferred) else step for step in record.value or ())
    return msgspec.structs.replace(record, value=steps if record.value is not None else None)


def streamed(kind: type[BinlogDecoder], plan: Planner, server: str, rows: Inserted) -> tuple[list[Record], Any]:
    """The records of a transaction with the rows, and the state at its row event."""
    decoder = kind(
        plan,
        position=WHERE,
        flavor="mysql",
        framing="file",
        server_error=writer.server_error,
        clock=lambda: pair.NOW,
    )
    decoder._versions._mariadb = server == "mariadb"
    raw = rows.log().raw
    batches = decoder.feed(raw[: raw.rindex(rows.images.data) + len(rows.images.data) + 4])
    return [record for batch in batches for record in batch.records], decoder._state


def whole(parts: Iterable[Batch]) -> Batch:
    """The parts of a chunk as one batch."""
    return reduce(joined, parts, Batch((), WHERE, boundary=True))


def chunk_records(
    functions: RowFunctions, plan: Planner, server: str, rows: Inserted, seen: Any, monkeypatch: pytest.MonkeyPatch
) -> Batch:
    """The same rows as a chunk, with the variables that the stream has `seen`."""
    usual = chunk_decoder._state

    def like_the_stream(*arguments: Any) -> Any:
        state = usual(*arguments)
        for field in ("ts_us", "pos", "server_id", "thread", "file_json"):
            setattr(state, field, getattr(seen, field))
        return state

    decoder = ChunkDecoder(lambda _: plan, mariadb=server == "mariadb", functions=functions, clock=lambda: pair.NOW)
    with monkeypatch.context() as patch:
        patch.setattr(chunk_decoder, "_state", like_the_stream)
        return whole(decoder.rows(rows.chunk(), seen.position.decode(), *ALL))


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("form", [*pair.FORMATS, "avro", "protobuf"])
@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name.partition(".")[0])
def test_rows_are_as_in_the_stream(path: Path, form: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    server, (kind, functions) = pair.flavor(path), KINDS[name]
    plan = planner(form, server, {})
    count = 0
    for rows in inserted(path):
        records, seen = streamed(kind, plan, server, rows)
        batch = chunk_records(functions, plan, server, rows, seen, monkeypatch)
        assert list(batch.records) == records
        assert batch.rows == len(rows.images)
        count += len(records)
    assert count


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("form", [*pair.FORMATS, "avro", "protobuf"])
def test_transforms_hold_for_chunks(form: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, functions = KINDS[name]
    plan = planner(form, "mysql", RULES)
    rows = next(rows for rows in inserted(recorded("mysql_transactions")) if len(rows.images) > 1)
    records, seen = streamed(kind, plan, "mysql", rows)
    batch = chunk_records(functions, plan, "mysql", rows, seen, monkeypatch)
    assert list(batch.records) == records
    assert 0 < len(records) < len(rows.images)  # the filter holds
    assert batch.rows == len(rows.images)  # as the stream counts them


def recorded(name: str) -> Path:
    return next(path for path in RECORDINGS if path.name.startswith(name))


def ids_plan(marker: Marker) -> Planner:
    """Prints the marker, too."""

    def plan(table: Table) -> TablePlan | None:
        made = writer.plan(table, renderer="int")
        record = msgspec.structs.replace(made.insert[0], headers=(("marker", (Text(marker),)),))
        return msgspec.structs.replace(made, insert=(record,))

    return plan


def decoder(functions: RowFunctions, **options: Any) -> ChunkDecoder:
    return ChunkDecoder(ids_plan, mariadb=False, functions=functions, **options)


@pytest.mark.parametrize(
    ("markers", "expected"),
    [
        ("first true last", ["first", "true", "true", "last"]),
        ("first true last", ["first", "last"]),
        ("first true last", ["last"]),
        ("first true true", ["first"]),
        ("first true true", ["first", "true"]),
        ("true true last", ["true", "true", "last"]),
        ("incremental incremental incremental", ["incremental"] * 3),
        ("first true last", []),
    ],
)
def test_first_and_last_row_have_markers_of_their_own(
    functions: RowFunctions, markers: str, expected: list[str]
) -> None:
    first, between, last = cast("tuple[Marker, Marker, Marker]", tuple(markers.split()))
    chunk = of_ids(range(len(expected))).chunk()
    batch = whole(decoder(functions).rows(chunk, "snapshot:shop.t:3", first, between, last))
    assert [(record[2], record[3], record[4], record[5][0][1].decode()) for record in batch.records] == [
        (b"[%d]" % row, b"snapshot:shop.t:3", row, marker) for row, marker in enumerate(expected)
    ]
    assert batch.rows == len(expected)


def test_a_long_chunk_comes_in_parts(functions: RowFunctions) -> None:
    parts = list(decoder(functions).rows(of_ids(range(200_000)).chunk(), "i", *ALL))  # 1 MB, and 1.5 MB of records
    assert len(parts) > 1
    for part in parts:
        assert isinstance(part.records, PackedRecords) == (functions is not PYTHON)
        assert part.size == sum(len(record[1] or b"") + len(record[2] or b"") for record in part.records)
        assert part.size < 2 * chunk_decoder._PART
        assert part.rows == len(part.records)
        assert not part.source_ms
    assert [record[4] for part in parts for record in part.records] == list(range(200_000))


def test_images_are_let_go_before_the_last_part(functions: RowFunctions) -> None:
    """One row may be as large as all else in memory."""
    chunk = of_ids(range(200_000)).chunk()
    images = chunk.images
    parts = decoder(functions).rows(chunk, "i", *ALL)
    del chunk
    held = [sys.getrefcount(images) for _ in parts]
    assert len(held) > 1
    assert held[-1] == held[0] - 1


def test_a_grouped_plan_makes_a_record_of_8_kb_of_rows(functions: RowFunctions) -> None:
    made = pair.format_of("canal")
    found = ChunkDecoder(lambda _: lambda table: made.plan(table, "x"), mariadb=False, functions=functions)
    batch = whole(found.rows(of_ids(range(5000)).chunk(), "i", *ALL))
    assert [record[4] for record in batch.records] == [0, 1638, 3276, 4914]


def test_a_row_that_is_longer_than_an_event(functions: RowFunctions) -> None:
    images = [b"\0" + (700_000).to_bytes(4, "little") + bytes([65 + n]) * 700_000 for n in range(3)]
    table = Table("shop", "b", (Column(0, "b", types.BLOB, 4),))
    rows = RowImages(b"".join(images), [700_005, 1_400_010, 2_100_015])
    plan = writer.plan(table, keys=(), renderer="base64")
    found = ChunkDecoder(lambda _: lambda table: plan, mariadb=False, functions=functions)
    batch = whole(found.rows(Inserted(writer.table_map(table), table, rows).chunk(), "i", *ALL))
    assert (batch.rows, batch.size) == (3, 2_800_020)


def test_a_table_that_is_not_replicated_gives_nothing(functions: RowFunctions) -> None:
    found = ChunkDecoder(lambda _: lambda table: None, mariadb=False, functions=functions)
    batch = whole(found.rows(of_ids([1, 2]).chunk(), "i", *ALL))
    assert (list(batch.records), batch.rows) == ([], 0)


def test_damaged_images_are_refused_with_their_table(functions: RowFunctions) -> None:
    rows = of_ids([1, 2])
    damaged = msgspec.structs.replace(rows.chunk(), images=RowImages(rows.images.data[:-1], [5, 9]))
    with pytest.raises(DecodeError, match="E2302") as caught:
        list(decoder(functions).rows(damaged, "i", *ALL))
    assert caught.value.table == "shop.t"


def test_a_plan_that_waits_for_a_commit_is_refused(functions: RowFunctions) -> None:
    made = pair.format_of("maxwell")
    found = ChunkDecoder(lambda _: lambda table: made.plan(table, "x"), mariadb=False, functions=functions)
    with pytest.raises(ValueError, match="Deferred"):
        list(found.rows(of_ids([1]).chunk(), "i", *ALL))


class Described:
    """A catalog in which a comment changes."""

    def __init__(self) -> None:
        self.comment = "a"

    def describe(self, table: Table, *, named: bool) -> Table:
        assert named
        return msgspec.structs.replace(table, comment=self.comment)

    def statement(self, *_: Any) -> Any:
        raise AssertionError


def test_tables_are_described_as_the_stream_knows_them_now(functions: RowFunctions) -> None:
    """The same table map may mean another definition; plans are only made where it does."""
    catalog, planned = Described(), list[str | None]()

    def plan(table: Table) -> TablePlan:
        planned.append(table.comment)
        return msgspec.structs.replace(writer.plan(table, renderer="int"), topic=table.comment or "")

    found = ChunkDecoder(lambda _: plan, mariadb=False, catalog=catalog, functions=functions)
    topics = []
    for comment in ("a", "a", "b", "b"):
        catalog.comment = comment
        topics.append(whole(found.rows(of_ids([1]).chunk(), "i", *ALL)).records[0][0])
    assert (topics, planned) == (["a", "a", "b", "b"], ["a", "b"])


def test_rows_and_keys_of_ordinary_tables_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python functions take 30 times as long."""

    def refuse(*_: Any) -> Any:
        raise AssertionError("asked for the Python function")

    monkeypatch.setattr(row_programs, "compile_rows", refuse)
    native_rows.cache_clear()
    plan = planner("debezium", "mysql", {})
    found = ChunkDecoder(lambda _: plan, mariadb=False)
    for rows in inserted(recorded("mysql_orders")):
        assert len(whole(found.rows(rows.chunk(), "i", *ALL)).records) == len(rows.images)
        assert len(found.keys(rows.chunk(), ("id",))) == len(rows.images)
