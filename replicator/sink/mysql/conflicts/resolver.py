"""Rows of a transaction -> the rows that the target executes instead, by the rows that it has.

The seam for other parts of the sink: `Resolver.resolve(rows)` inside the open transaction, behind
its fence. `rule(rows)` says how conflicts of a run are resolved; None: its rows are executed as they are. A table that
is being filled has `resolve.CONVERGE`, its rows of the snapshot `CONVERGE` or `KEEP`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

from replicator.errors import ReplicatorError
from replicator.model import types
from replicator.model.batch import Record
from replicator.sink.mysql.conflicts import documents, newest, refusals, row_keys
from replicator.sink.mysql.conflicts import lookup as lookups
from replicator.sink.mysql.conflicts.found_rows import FoundRows
from replicator.sink.mysql.conflicts.lookup import Lookup
from replicator.sink.mysql.conflicts.recorder import Met, Recorder, Texts
from replicator.sink.mysql.conflicts.resolve import Comparison, Conflict, Rule, TableRows
from replicator.sink.mysql.connection import Target
from replicator.sink.mysql.image_values import Change, Values, changes, values
from replicator.sink.mysql.row_groups import EVENT_BYTES, Rows
from replicator.sink.mysql.row_runs import runs

RuleOf: TypeAlias = Callable[[Rows], Rule | None]


class Resolver:
    """Of one session. `recorder`: of its conflicts."""

    def __init__(self, target: Target, rule: RuleOf, texts: Texts, recorder: Recorder) -> None:
        self._target = target
        self._texts = texts
        self.recorder = recorder
        self._rule = rule
        self._found = FoundRows(target)
        self._lookups: dict[str, Lookup] = {}

    def concerns(self, group: Iterable[Rows]) -> bool:
        """Whether there is a rule for any of them."""
        return any(self._rule(rows) is not None for rows in group)

    def reads_first(self, group: Iterable[Rows]) -> bool:
        """Whether they are to be resolved before the server has refused one."""
        rules = map(self._rule, group)
        return any(rule is not None and rule.reads_first for rule in rules)

    def resolve(self, group: Sequence[Rows]) -> list[Rows]:
        """What is executed instead, in its order.

        Raises:
            SinkError: E3454; E3451, a conflict where the policy is stop; E3450, rows cannot be found by their images.
            SinkUnavailable.
        """
        given = [(rows, self._rule(rows)) for rows in group]
        at_target = self._read([rows for rows, rule in given if rule is not None])
        done: list[Rows] = []
        met: list[Met] = []
        for rows, rule in given:
            if rule is None:
                done.append(rows)
            else:
                done += self._applied(rows, rule, at_target[rows.route.table], met)
        self.recorder.record(met)
        return done

    def _applied(self, rows: Rows, rule: Rule, at_target: TableRows, met: list[Met]) -> Iterable[Rows]:
        lookup, operation = self._lookup(rows), rows.run.operation
        records: list[Record] = []
        altered = False
        for index, change in enumerate(changes(rows.run, lookup.layout), rows.first):
            done, conflicts = at_target.apply(change, rule)
            record = rows.records[index]
            if not conflicts and done == [change]:
                records.append(record if _begins_with(record, operation) else _record(record, operation, change))
                continue
            if rule.policy == "stop" and conflicts:
                raise self._stopped(rows, lookup, record, conflicts)
            altered = True
            records += (_record(record, operation, each) for each in done)
            met += (Met(lookup, record, conflict) for conflict in conflicts)
        if not altered:
            return [rows]
        first, made = 0, []
        for run in runs(records, EVENT_BYTES):
            made.append(Rows(rows.route, run, records, first))
            first += run.records
        return made

    @staticmethod
    def _stopped(rows: Rows, lookup: Lookup, record: Record, conflicts: Sequence[Conflict]) -> ReplicatorError:
        met = [each for each in conflicts if not (each.rule.completes and each.kind == "missing")]
        conflict = met[0]  # a row that is missing is expected while a table is being filled
        error = refusals.stopped(lookup, record, conflict)
        by_key = conflict.expected if conflict.kind == "different" else None
        image, owners = by_key or conflict.new or conflict.expected, rows.route.owners
        shard = lookup.table.shard
        if shard is None or not shard.disjoint or conflict.kind == "missing" or image is None or owners is None:
            return error
        return refusals.of_merged(error, conflict, lookup.table, owners(lookup.table, row_keys.of_image(lookup, image)))

    def _read(self, group: Sequence[Rows]) -> dict[str, TableRows]:
        """By the name at the target."""
        by_table: dict[str, list[Rows]] = {}
        for rows in group:
            by_table.setdefault(rows.route.table, []).append(rows)
        return {table: self._table(its) for table, its in by_table.items()}

    def _table(self, its: Sequence[Rows]) -> TableRows:
        """`its`: of one table; a group has one version of it."""
        lookup = self._lookup(its[0])
        given = [change for rows in its for change in changes(rows.run, lookup.layout)]
        images = [values(image, lookup.layout) for change in given for image in change if image is not None]
        after = [values(image, lookup.layout) for _, image in given if image is not None]
        found = list(self._found.read(lookup, lookup.layout.key, _keys(images, lookup.layout.key)))
        for unique in lookup.uniques:
            found += self._found.read(lookup, unique, _keys(after, unique))
        return TableRows(self._comparison(lookup, images, found), dict.fromkeys(found))

    def _comparison(
        self, lookup: Lookup, images: Sequence[Sequence[bytes | None]], found: Sequence[bytes]
    ) -> Comparison:
        every = [*images, *(values(image, lookup.layout) for image in found)] if lookup.folded else []
        folds = {
            column: self._found.weights(
                lookup, column, (row[column] or b"" for row in every if row[column] is not None)
            )
            for column in lookup.folded
        }

        def folded(column: int, value: bytes) -> bytes:
            return folds[column][value] if column in folds else value

        return Comparison(
            lookup.layout,
            lookup.uniques,
            folded,
            lambda column, one, other: self._same(lookup, column, one, other),
            lambda column, value: newest.rank(lookup.table.columns[column], value),
        )

    def _same(self, lookup: Lookup, column: int, one: bytes, other: bytes) -> bool:
        """Documents may differ in their form alone: a server leaves gaps where it has changed them in place."""
        if lookup.table.columns[column].type != types.JSON:
            return False
        text = self._texts.value(lookup, column)
        return documents.equal(text(one), text(other))

    def _lookup(self, rows: Rows) -> Lookup:
        topic = rows.run.topic
        known = self._lookups.get(topic)
        if known is None:
            known = self._lookups[topic] = lookups.read(self._target, rows.route.stored)
        return known


_LENGTH: Final = 4


def _keys(images: Iterable[Sequence[bytes | None]], columns: Sequence[int]) -> Iterable[Values]:
    """Those without NULL, each once."""
    every = dict.fromkeys(tuple(image[column] for column in columns) for image in images)
    return (key for key in every if None not in key)


def _begins_with(record: Record, operation: bytes) -> bool:
    """Rows of a snapshot become inserts among changes."""
    return operation[-1:] != b"R" and (record[2] or b"").startswith(operation)


def _record(record: Record, operation: bytes, change: Change) -> Record:
    """A record of another change of the same place."""
    before, after = change
    mark = operation[:-1]
    if before is None:
        value = mark + b"I" + (after or b"")
    elif after is None:
        value = mark + b"D" + before
    else:
        value = mark + b"U" + len(before).to_bytes(_LENGTH, "little") + before + after
    return record[0], None, value, record[3], record[4], ()
