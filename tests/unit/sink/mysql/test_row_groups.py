"""Statements are the same for sections of records as for their runs."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replicator import compiled
from replicator.model.batch import Record
from replicator.model.target_table import Shard, TargetTable
from replicator.sink.mysql import events
from replicator.sink.mysql.image_values import Layout
from replicator.sink.mysql.net_layout import Joining
from replicator.sink.mysql.row_groups import Route, RoutedSection, RowGroup, Rows, size_of
from replicator.sink.mysql.row_runs import runs
from replicator.sink.mysql.row_sections import sections
from replicator.sink.mysql.transaction import Transaction
from tests.unit.compiled.test_row_runs import packed
from tests.unit.sink.mysql.test_net_changes import LAYOUT, image

MOST = 1 << 20
STORED = TargetTable("shop", "t", (), (), mariadb=False)


def route(table: str, layout: Layout | None, parents: frozenset[str] = frozenset()) -> Route:
    present = events.bitmap(3, range(3))

    def make(number: int) -> bytes:
        return b"map %d of %s" % (number, table.encode())

    head = len(events.rows_header("insert", 0, 3, present, 0, last=False))
    return Route(
        f"shop.{table}", f"shop.{table}", make, 3, present, Joining(layout, parents), len(make(0)), head, STORED
    )


def merged(table: str, shard: Shard, form: bytes = b"same") -> Route:
    stored = msgspec.structs.replace(STORED, shard=shard)
    return msgspec.structs.replace(route(table, LAYOUT), stored=stored, form=form)


ROUTES = {
    "a#0": route("a", LAYOUT),
    "a#1": route("a", LAYOUT),
    "b#0": route("b", LAYOUT),
    "keyless#0": route("keyless", None),
    "wider#0": msgspec.structs.replace(route("wider", LAYOUT), transcode=lambda images, count, most: []),
    "parent#0": route("parent", LAYOUT),
    "child#0": route("child", None, frozenset({"shop.parent"})),
    **{f"one#{n}": merged("one", Shard(("shard",), (str(n),))) for n in range(2)},
    "one#wider": merged("one", Shard(("shard",), ("2",)), form=b"wider"),
    **{f"all#{n}": merged("all", Shard()) for n in range(2)},
}


def record(topic: str, operation: str, number: int, mark: bytes = b"") -> Record:
    old, new = image((number % 4, "a", number)), image((number % 4, "b", number))
    value = {"I": new, "D": old, "U": len(old).to_bytes(4, "little") + old + new}[operation]
    return topic, None, mark + operation.encode() + value, b"p", number, ()


_topics = st.sampled_from(
    [name for name in ROUTES if name not in ("a#1", "wider#0") and name[:3] not in ("one", "all")]
)
_records = st.lists(st.builds(record, _topics, st.sampled_from("IUD"), st.integers(0, 12)), min_size=1, max_size=20)


def by_runs(records: Any) -> RowGroup:
    group, first = RowGroup(), 0
    for run in runs(records, MOST):
        rows = Rows(ROUTES[run.topic], run, records, first)
        group.add(rows, size_of(rows))
        first += run.records
    return group


def by_section(records: Any) -> RowGroup:
    group = RowGroup()
    (section,) = sections(records, MOST)
    routed = RoutedSection(section, {topic.topic: ROUTES[topic.topic] for topic in section.topics})
    group.add(routed, routed.size)
    return group


@settings(max_examples=400, deadline=None)
@given(_records, st.booleans())
def test_any_changes(records: list[Record], arenas: bool) -> None:
    given_records = packed(records, [3]) if arenas and compiled.available() else records
    one, other = by_runs(records), by_section(given_records)
    assert other.size == one.size
    assert set(other.tables) == set(one.tables)
    assert other.statements() == one.statements()
    rows = [(each.route, each.run, each.records[each.first]) for each in one.rows]
    assert [(each.route, each.run, each.records[each.first]) for each in other.rows] == rows
    assert [each.run for each in other.single_rows] == [each.run for each in one.single_rows]


class Sizes(NamedTuple):
    room: int
    largest: int


def transaction(room: int) -> Transaction:
    return Transaction(cast(Any, Sizes(room, room)), cast(Any, None), cast(Any, None), 0)


@pytest.mark.parametrize(
    ("records", "room", "taken"),
    [
        ([record("a#0", "I", 1), record("b#0", "I", 1)], 1 << 20, True),
        ([record("a#0", "I", 1), record("a#1", "I", 2)], 1 << 20, False),  # versions of one table
        ([record("a#0", "I", 1), record("wider#0", "I", 2)], 1 << 20, False),  # images are converted
        ([record("one#0", "I", 1), record("one#1", "I", 2)], 1 << 20, True),  # merged tables with a column in their key
        ([record("one#0", "I", 1), record("one#wider", "I", 2)], 1 << 20, False),  # they have other columns
        ([record("all#0", "D", 1), record("all#1", "I", 1)], 1 << 20, False),  # keys move between merged tables
        ([record("a#0", "I" if number % 2 else "D", number) for number in range(200)], 6_000, False),  # too large
    ],
)
def test_what_is_added_run_by_run(records: list[Record], room: int, taken: bool) -> None:
    (section,) = sections(records, MOST)
    routed = RoutedSection(section, {topic.topic: ROUTES[topic.topic] for topic in section.topics})
    assert transaction(room).add_section(routed) is taken


@pytest.mark.parametrize(("other", "takes"), [("one#1", True), ("one#wider", False), ("all#1", True), ("a#1", True)])
def test_a_group_takes_merged_tables_with_the_same_images(other: str, takes: bool) -> None:
    first = record(f"{other[:3]}#0" if other != "a#1" else "b#0", "I", 1)
    assert by_runs([first]).takes(Rows(ROUTES[other], runs([record(other, "I", 2)], MOST)[0], (), 0)) is takes


def test_a_group_has_one_version_of_a_table_and_rows_with_checks_or_without() -> None:
    group = by_section([record("a#0", "I", 1)])
    for records, takes in (
        ([record("a#0", "D", 1)], True),
        ([record("b#0", "I", 1)], True),
        ([record("b#0", "I", 1), record("a#1", "I", 1)], False),
        ([record("a#0", "I", 2, b"F")], False),
    ):
        (section,) = sections(records, MOST)
        routed = RoutedSection(section, {topic.topic: ROUTES[topic.topic] for topic in section.topics})
        assert group.takes(routed) is takes
