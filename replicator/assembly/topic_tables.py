"""Chooses the tables of a task that can be compared with its topics, and describes their columns in records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from replicator.assembly.verification import table_of
from replicator.config.tables import TableFilter
from replicator.config.task import KafkaSink, TaskConfig
from replicator.encode.topics import Topics
from replicator.errors import ProcessError
from replicator.model import types
from replicator.model.finding import listed
from replicator.model.table import Table
from replicator.pipeline.ports import TableSize
from replicator.sink.kafka.topic_reader import TopicFacts, TopicReader
from replicator.source.mysql.snapshot import tables as source_tables
from replicator.source.mysql.snapshot.definition import split
from replicator.transform.chain import Chain
from replicator.transform.filters import Filters
from replicator.transform.operations import Operations
from replicator.transform.view import View
from replicator.verify.side import Side
from replicator.verify.table_pair import Description
from replicator.verify.topics.columns import Columns
from replicator.verify.topics.ports import TopicTable
from replicator.verify.verifier import Wanted

_NO_TOPIC: Final = TopicFacts(0, "", ())
_OPERATIONS: Final = {"c": "insert", "u": "update", "d": "delete"}


class _Described(msgspec.Struct, frozen=True):
    """A table that can be compared, before its topic is looked at. `alone`: no other table can have its topic."""

    wanted: Wanted
    table: Table
    view: View
    key: tuple[str, ...]
    topic: str
    alone: bool


class Chosen(msgspec.Struct, frozen=True):
    """
    Attributes:
        tables: `Wanted`: are not compared.
        columns: `database.table` -> name of each column at the source -> name in records.
        alone: topic -> name in records of the only table that it can have.
        facts: of the topics that exist.
    """

    tables: list[TopicTable | Wanted]
    columns: Mapping[str, Mapping[str, str]]
    alone: Mapping[str, tuple[str, str]]
    facts: Mapping[str, TopicFacts]


class TopicTables:
    """Args:
    complete: rows without a record are missing, also if the task began after them.
    snapshot_open: rows of a snapshot are still to be delivered.
    """

    def __init__(
        self, config: TaskConfig, sink: KafkaSink, source: Side, *, complete: bool, snapshot_open: bool
    ) -> None:
        self._config, self._sink, self._source = config, sink, source
        self._complete, self._snapshot_open = complete, snapshot_open
        self._chain, self._filters = Chain(config.transforms), Filters(config.transforms.filter)
        self._operations = Operations(config.transforms.operations)
        self._names = Topics(sink.topic_template, config.name)

    def choose(self, patterns: Sequence[str], topics: TopicReader) -> Chosen:
        """Raises ProcessError E5032."""
        chosen = TableFilter(patterns or ("*.*",))
        sizes = source_tables.selected(self._source.control, self._config.database)
        if patterns and not any(chosen.chooses(each.table) for each in sizes):
            raise ProcessError(
                "E5032",
                f"no table that the task replicates matches {', '.join(patterns)}",
                wanted="--table with names of the source",
            )
        described = [self._described(size) for size in sizes]
        written = Counter(_wanted_of(each).target for each in described)
        picked = [each for each in described if chosen.chooses(_wanted_of(each).table)]
        found = [each for each in picked if isinstance(each, _Described)]
        facts = topics.facts(sorted({each.topic for each in found}))
        tables = [
            each if isinstance(each, Wanted) else self._table(each, facts.get(each.topic), number, written)
            for number, each in enumerate(picked)
        ]
        columns = {each.wanted.table: dict(_renamed(each)) for each in found}
        return Chosen(tables, columns, {each.topic: _name(each) for each in found if each.alone}, facts)

    def _described(self, size: TableSize) -> _Described | Wanted:
        found = self._source.describe(*split(self._source.control, size.table))
        if found is None:
            return Wanted(size.table, size.table, 0, 0, "it is a view, or was dropped")
        table = table_of(self._source, found)
        view = self._chain.view(table)
        wanted = Wanted(size.table, view.table.qualified, size.rows, size.size)
        key, reason = _key(found, table, view)
        reason = self._omitted(table) or reason
        if reason:
            return msgspec.structs.replace(wanted, skipped=reason)
        topic, template = self._chain.topic(table, self._names), self._sink.topic_template
        alone = "{database}" in template and "{table}" in template and not self._chain.routed(table)
        return _Described(wanted, table, view, key, topic, alone)

    def _omitted(self, table: Table) -> str:
        """Why topics have other rows than the source, on purpose."""
        omitted = self._operations.skipped(table) - {"truncate"}
        if omitted:
            return f"transforms.operations omit {listed(sorted(omitted))}"
        skipped = {_OPERATIONS[each] for each in self._sink.debezium.skipped_operations if each in _OPERATIONS}
        if skipped and self._sink.format == "debezium":
            return f"sink.debezium.skipped_operations omit {listed(sorted(skipped))}"
        if self._config.database.skip_replicated != "none":
            return "source.skip_replicated omits transactions"
        chosen = self._filters.filter(table)
        return "transforms.filter select changes, not rows" if chosen is not None and not chosen.rows else ""

    def _table(
        self, each: _Described, facts: TopicFacts | None, number: int, written: Mapping[str, int]
    ) -> TopicTable | Wanted:
        whole, reason = self._complete or self._has_snapshot(each.wanted.table), ""
        if facts is None and not whole:
            reason = f"topic {each.topic} does not exist"
        elif written[each.wanted.target] > 1:
            reason = "several tables of the source are written under this name"
        elif facts is not None and facts.compacted and not each.alone and self._sink.format == "debezium":
            reason = f"topic {each.topic} is compacted, and its keys do not name the table"
        if reason:
            return msgspec.structs.replace(each.wanted, skipped=reason)
        of = facts if facts is not None else _NO_TOPIC
        kept, expired = dict(_renamed(each)), _expired(each.topic, of)
        return TopicTable(
            each.wanted,
            self._columns(each, number),
            _name(each),
            each.topic,
            of.partitions,
            {column.name: "excluded by the task" for column in each.table.columns if column.name not in kept},
            expired,
            self._complete or (whole and not expired),
        )

    def _columns(self, each: _Described, number: int) -> Columns:
        plain = {
            column.name: each.table.columns[origin.column].type
            for column, origin in zip(each.view.table.columns, each.view.origins, strict=True)
            if origin.constant is None and not origin.mask and not origin.nothing
        }
        return Columns(
            number,
            [name for _, name in _renamed(each)],
            each.key,
            [name for name, kind in plain.items() if kind == types.JSON],
            [name for name, kind in plain.items() if kind == types.TINY and self._sink.format == "debezium"],
            omitted_nulls=self._sink.format == "maxwell" and not self._sink.maxwell.output_nulls,
        )

    def _has_snapshot(self, table: str) -> bool:
        options = self._config.database.snapshots
        chosen = options.first and TableFilter(options.tables).chooses(table) and table not in options.where
        return chosen and not self._snapshot_open


def _wanted_of(each: _Described | Wanted) -> Wanted:
    return each if isinstance(each, Wanted) else each.wanted


def _name(each: _Described) -> tuple[str, str]:
    return each.view.table.database, each.view.table.name


def _renamed(each: _Described) -> list[tuple[str, str]]:
    """Columns that records have: name at the source, name in records."""
    return [
        (each.table.columns[origin.column].name, column.name)
        for column, origin in zip(each.view.table.columns, each.view.origins, strict=True)
        if origin.constant is None
    ]


def _key(found: Description, table: Table, view: View) -> tuple[tuple[str, ...], str]:
    """Names in records of the columns by which rows are told apart, or why there are none."""
    if not found.keys:
        return (), "no primary key or unique key of NOT NULL columns"
    names = []
    places = {origin.column: place for place, origin in enumerate(view.origins) if origin.constant is None}
    for index in found.keys[0].columns:
        place = places.get(index)
        if place is None:
            return (), f"column {table.columns[index].name} of the key is excluded by the task"
        if view.origins[place].mask or view.origins[place].nothing:
            return (), f"column {table.columns[index].name} of the key is masked"
        names.append(view.table.columns[place].name)
    return tuple(names), ""


def _expired(topic: str, facts: TopicFacts) -> str:
    lost = [f"partition {number} begins at offset {first}" for number, first in enumerate(facts.first) if first]
    return f"topic {topic}: {listed(lost)}; cleanup.policy={facts.policy}" if lost and facts.deletes else ""
