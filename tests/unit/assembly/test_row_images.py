"""Row images under transforms: what a task with a database as its sink gives the sink, by both decoders."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from replicator.assembly.pipeline import build_rendering
from replicator.assembly.planners import Planners
from replicator.config.load import parse_task
from replicator.decode.binlog import event_types
from replicator.decode.decoder import BinlogDecoder
from replicator.decode.native.compiled_decoder import CompiledDecoder, decoder_class
from replicator.errors import ConfigError, DecodeError
from replicator.model import types
from replicator.model.batch import Record
from replicator.model.position import Position
from replicator.model.snapshot import SnapshotMoment
from replicator.model.target_table import Shard, TargetTable
from tests.unit.decode.binlog_writer import records, server_error
from tests.unit.transform.changes import ANN, BOB, USERS, Script, image

MOMENT = SnapshotMoment("binlog.000001", 15506318, 1795252131514)


def planners(transforms: dict[str, Any] | None = None, **source: Any) -> tuple[Planners, Any]:
    data = {
        "name": "copy",
        "source": {"type": "mysql", "user": "u", "password": "env:P", "tables": ["shop.*"], **source},
        "sink": {"type": "mysql", "user": "w", "password": "env:P"},
        "transforms": transforms or {},
    }
    config = parse_task(data)
    return Planners(config), build_rendering(config)


@pytest.fixture(params=[BinlogDecoder, CompiledDecoder])
def kind(request: pytest.FixtureRequest) -> type[BinlogDecoder]:
    if request.param is CompiledDecoder and decoder_class() is BinlogDecoder:
        pytest.skip("the compiled code is not there")
    made: type[BinlogDecoder] = request.param
    return made


def run(
    kind: type[BinlogDecoder], script: Any, transforms: dict[str, Any] | None = None
) -> tuple[Planners, list[Record]]:
    made, rendering = planners(transforms)
    decoder = kind(
        made.stream,
        narrator=made.narrator,
        position=Position("binlog.000001", 4),
        flavor="mysql",
        framing="file",
        server_error=server_error,
        rendering=rendering,
        clock=lambda: 1_000_000_000,
    )
    return made, records([*decoder.feed(script.raw), *decoder.feed(b"")])


def table_of(made: Planners, record: Record) -> TargetTable:
    return made.tables.table(record[0])


def test_values_of_each_operation(kind: type[BinlogDecoder]) -> None:
    script = Script().change(USERS, "insert", ANN, BOB).change(USERS, "update", ANN, BOB).change(USERS, "delete", BOB)
    made, found = run(kind, script)
    ann, bob = image(USERS, ANN), image(USERS, BOB)
    assert [record[2] for record in found] == [
        b"I" + ann,
        b"I" + bob,
        b"U" + len(ann).to_bytes(4, "little") + ann + bob,
        b"D" + bob,
    ]
    assert {record[1] for record in found} == {None}
    table = table_of(made, found[0])
    assert (table.qualified, table.source, table.primary_key) == ("shop.user", "shop.user", (0,))
    assert [column.name for column in table.columns] == [column.name for column in USERS.columns]
    assert [column.type for column in table.columns] == [column.type for column in USERS.columns]


def test_changes_without_foreign_key_checks_are_marked(kind: type[BinlogDecoder]) -> None:
    """Event by event; other flags do not count."""
    script = Script().change(USERS, "insert", ANN)
    script.gtid(2).query("BEGIN")
    for flags in (0x02, 0x01, 0x03, 0x05, 0x200, 0x10):
        script.rows(event_types.DELETE_ROWS, len(USERS.columns), image(USERS, ANN), flags=flags)
    _, found = run(kind, script.xid())
    assert [(record[2] or b"")[:2].rstrip(b"\0") for record in found] == [b"I", b"FD", b"D", b"FD", b"D", b"D", b"FD"]


def test_excluded_and_renamed_columns_and_tables(kind: type[BinlogDecoder]) -> None:
    name = USERS.columns[1].name
    transforms = {
        "columns": [{"tables": ["shop.user"], "exclude": [name]}],
        "rename": [{"tables": ["shop.user"], "columns": {"id": "number"}, "database": "copy", "table": "people"}],
    }
    made, (record,) = run(kind, Script().change(USERS, "insert", ANN), transforms)
    table = table_of(made, record)
    assert (table.qualified, table.source) == ("copy.people", "shop.user")
    kept = [column for column in USERS.columns if column.name != name]
    assert [column.name for column in table.columns] == ["number", *(column.name for column in kept[1:])]
    assert [column.index for column in table.columns] == list(range(len(kept)))
    cut = msgspec.structs.replace(USERS, columns=tuple(kept))
    row = image(cut, [value for column, value in zip(USERS.columns, ANN, strict=True) if column.name != name])
    assert record[2] == b"I" + bytes([row[0] | (0xFF << len(kept) & 0xFF)]) + row[1:]


def test_rows_move_into_and_out_of_a_filter(kind: type[BinlogDecoder]) -> None:
    script = Script().change(USERS, "update", ANN, BOB).change(USERS, "update", BOB, ANN)
    _, found = run(kind, script, {"filter": [{"tables": ["shop.user"], "where": f"id = {BOB[0]}"}]})
    assert [record[2] for record in found] == [b"I" + image(USERS, BOB), b"D" + image(USERS, BOB)]


def test_masked_columns_have_the_type_of_their_mask(kind: type[BinlogDecoder]) -> None:
    name = USERS.columns[1].name
    made, (record,) = run(
        kind,
        Script().change(USERS, "insert", ANN),
        {"mask": [{"tables": ["shop.user"], "columns": [name], "fixed": "é"}]},
    )
    column = table_of(made, record).columns[1]
    assert (column.name, column.type, column.meta) == (name, types.VARCHAR, 252)
    assert b"\x02\xc3\xa9" in (record[2] or b"")
    _, (nulled,) = run(
        kind,
        Script().change(USERS, "insert", ANN),
        {"mask": [{"tables": ["shop.user"], "columns": [name], "nullify": True}]},
    )
    assert (nulled[2] or b"")[1] & 2


def test_a_fixed_text_that_does_not_fit_is_refused_with_the_plan() -> None:
    mask = {"tables": ["shop.user"], "columns": [USERS.columns[1].name]}
    planners({"mask": [{**mask, "fixed": "x" * 252}]})[0].stream(USERS)
    with pytest.raises(DecodeError, match=r"E2310.*254 bytes.*at most 252 bytes"):
        planners({"mask": [{**mask, "fixed": "\u00e9" * 127}]})[0].stream(USERS)


def test_two_tables_do_not_become_one(kind: type[BinlogDecoder]) -> None:
    other = msgspec.structs.replace(USERS, name="user2")
    script = Script().change(USERS, "insert", ANN).change(other, "insert", ANN)
    with pytest.raises(ConfigError, match=r"E3441.*two tables are written to shop\.one"):
        run(kind, script, {"rename": [{"tables": ["shop.*"], "table": "one"}]})


ONE = {"tables": ["shop.*"], "table": "one"}
SHARD = {"match": r"shop\.user(\d*)", "columns": {"shard": "é$1"}, "key": True}


def test_constants_are_columns_behind_those_of_the_row(kind: type[BinlogDecoder]) -> None:
    """In both images, whatever of the row is NULL."""
    other = msgspec.structs.replace(USERS, name="user2")
    script = Script().change(USERS, "insert", ANN).change(other, "update", ANN, BOB)
    region = {"tables": ["shop.user2"], "columns": {"region": "eu"}}
    made, (first, second) = run(kind, script, {"rename": [ONE], "add": [SHARD, region]})
    assert [table_of(made, each).qualified for each in (first, second)] == ["shop.one", "shop.one"]
    one, two = table_of(made, first), table_of(made, second)
    assert [column.name for column in one.columns[4:]] == ["shard"] and one.primary_key == (0, 4)
    assert [column.name for column in two.columns[4:]] == ["shard", "region"] and two.primary_key == (0, 4)
    assert (one.shard, two.shard) == (Shard(("shard",), ("é",)), Shard(("shard",), ("é2",)))
    ann = image(USERS, ANN)
    assert first[2] == b"I" + bytes([ann[0] | 0xE0]) + ann[1:] + b"\x02\xc3\xa9"
    more = b"\x03\xc3\xa92\x02eu"
    before = bytes([ann[0] & 0x0F | 0xC0]) + ann[1:] + more
    bob = image(USERS, BOB)
    after = bytes([bob[0] & 0x0F | 0xC0]) + bob[1:] + more
    assert second[2] == b"U" + len(before).to_bytes(4, "little") + before + after


@pytest.mark.parametrize(
    ("transforms", "message"),
    [
        ({"rename": [ONE], "add": [SHARD | {"key": False}]}, "E3441.*keys: disjoint"),
        ({"rename": [ONE], "add": [SHARD | {"match": "shop.user()"}]}, "E3441"),
        ({"rename": [ONE], "add": [SHARD | {"columns": {"shard": "x"}}]}, r"E3442.*shard = 'x'"),
        ({"rename": [{**ONE, "keys": "disjoint"}], "add": [SHARD | {"match": "shop.user()"}]}, "E3442"),
        ({"rename": [{**ONE, "keys": "disjoint"}]}, None),
        ({"rename": [ONE], "add": [SHARD]}, None),
    ],
)
def test_which_tables_may_become_one(transforms: dict[str, Any], message: str | None) -> None:
    made, _ = planners(transforms)
    made.stream(USERS)
    other = msgspec.structs.replace(USERS, name="user2")
    if message is None:
        assert made.stream(other) is not None
        return
    with pytest.raises(ConfigError, match=message):
        made.stream(other)


def test_a_constant_needs_a_column_that_is_never_null() -> None:
    nullable = msgspec.structs.replace(
        USERS, columns=tuple(msgspec.structs.replace(each, nullable=True) for each in USERS.columns), primary_key=()
    )
    with pytest.raises(DecodeError, match=r"E2310.*'region'.*can all be NULL"):
        planners({"add": [{"tables": ["shop.*"], "columns": {"region": "eu"}}]})[0].stream(nullable)


def test_rows_of_a_snapshot_are_told_apart() -> None:
    made, _ = planners()
    decoder = decoder_class()(
        made.snapshot("true", MOMENT),
        position=Position("binlog.000009", 4),
        flavor="mysql",
        framing="file",
        server_error=server_error,
    )
    (record,) = records(decoder.feed(Script().change(USERS, "insert", ANN).raw))
    assert record[2] == b"FR" + image(USERS, ANN)
    assert record[0] == made.tables.name(table_of(made, record)), "the version that rows of the stream have"
