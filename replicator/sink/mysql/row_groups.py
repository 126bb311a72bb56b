"""Rows become statements: one BINLOG statement of table maps and an event for each run of one table and operation, or
SQL statements of each run."""

from __future__ import annotations

import binascii
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final

import msgspec

from replicator.errors import SinkError
from replicator.model.batch import Record
from replicator.model.target_table import OPERATIONS, UNCHECKED, TargetTable
from replicator.mysql.statement_text import LongText, Text
from replicator.sink.mysql import events
from replicator.sink.mysql.net_changes import FEWEST, divided
from replicator.sink.mysql.net_layout import Joining
from replicator.sink.mysql.row_runs import Run, runs, split
from replicator.sink.mysql.row_sections import Changes, Section
from replicator.sink.mysql.shards import Owners
from replicator.sink.mysql.sql import statements as sql
from replicator.sink.mysql.sql.load_mode import Loads
from replicator.sink.mysql.sql.row_texts import NO_TEXT
from replicator.sink.mysql.sql.sql_table import SqlTable
from replicator.sink.mysql.transcoding import Transcode

EVENT_BYTES: Final = 1 << 20
"""Images in one event, unless a single row has more."""
_BEGINS, _ENDS = b"BINLOG '", b"'"
_WORDS: Final = len(_BEGINS) + len(_ENDS)
_LONG: Final = 1 << 20
"""Bytes of events above which the text of a statement is made while it is sent."""
_SLICE: Final = 3 << 18
_UPDATE: Final = b"U"
_READ: Final = b"R"


class Route(msgspec.Struct, frozen=True, eq=False):
    """How images of one table version are written to its table at the target.

    Attributes:
        table: `database.name` at the target.
        source: the same at the source.
        map: makes its TABLE_MAP event for a table id.
        columns: in the map.
        present: bitmap of those that the images have.
        joining: whether the changes of a row may be joined.
        stored: the table as its images are executed.
        sql: how its rows are written by SQL; None: by BINLOG.
        transcode: makes those of the source's images; None: they are the same.
        map_size, head_size: bytes of its map, and of what an event of inserted rows has in front of the images.
        form: equal for table versions whose images are the same at the target: those of tables that are merged into one
            may be in one statement.
        owners: finds other tables of the source that have a row; None: it can't be asked.
    """

    table: str
    source: str
    map: Callable[[int], bytes]
    columns: int
    present: bytes
    joining: Joining
    map_size: int
    head_size: int
    stored: TargetTable
    sql: SqlTable | None = None
    transcode: Transcode | None = None
    form: bytes = b""
    owners: Owners | None = None

    def joins(self, other: Route) -> bool:
        """Whether rows of both may be in one statement, as those of one table version."""
        return self is other or (self.form == other.form != b"" and self.joining == other.joining)

    def mixes(self, other: Route) -> bool:
        """Whether that is so, and the order between rows of both does not matter: their keys differ."""
        shard = self.stored.shard
        return self is other or (shard is not None and not shard.disjoint and self.joins(other))


class Rows(msgspec.Struct):
    """Of one event. `records[first:]` begins with the records that they are of. `filling`: changes of a table that a
    snapshot has not completed."""

    route: Route
    run: Run
    records: Sequence[Record]
    first: int
    filling: bool = False


class RoutedSection(msgspec.Struct):
    """Changes of some tables that are not divided into runs before that is needed.

    Attributes:
        section: with a mark.
        routes: by topic; of each table one, or some that `Route.mixes`.
    """

    section: Section
    routes: dict[str, Route]

    @property
    def size(self) -> int:
        """Bytes of its events, if no changes are joined."""
        return sum(
            topic.size + topic.runs * route.head_size + topic.updates * len(route.present)
            for topic, route in zip(self.section.topics, self.routes.values(), strict=True)
        )

    @property
    def rows(self) -> Iterator[Rows]:
        """In their order."""
        records, first = self.section.records, 0
        for run in runs(records, EVENT_BYTES):
            yield Rows(self.routes[run.topic], run, records, first)
            first += run.records


class RowGroup:
    """The rows of one BINLOG statement, or of SQL statements that follow each other.

    Attributes:
        size: bytes of its events.
    """

    def __init__(self) -> None:
        self.size = 0
        self._parts: list[Rows | RoutedSection] = []
        self._tables: dict[str, Route] = {}
        self._marked = False
        self._snapshot = False

    def __bool__(self) -> bool:
        return bool(self._parts)

    def takes(self, part: Rows | RoutedSection) -> bool:
        """Whether it may be added: a statement has one version of each table, and servers take from its first rows
        event whether foreign keys are checked in all of it. Rows of a snapshot are apart, as their keys are not looked
        up before the server has refused one."""
        if self._parts and _unchecked(part) != self._marked:
            return False
        if self._parts and _of_snapshot(part) != self._snapshot:
            return False
        return all(self._tables.get(route.table, route).joins(route) for route in _routes(part))

    def add(self, part: Rows | RoutedSection, size: int) -> None:
        """`size`: see `size_of`."""
        for route in _routes(part):
            if route.table not in self._tables:
                self._tables[route.table] = route
                self.size += route.map_size
        if not self._parts:
            self._marked, self._snapshot = _unchecked(part), _of_snapshot(part)
        self._parts.append(part)
        self.size += size

    @property
    def rows(self) -> Sequence[Rows]:
        if any(isinstance(part, RoutedSection) for part in self._parts):
            self._parts = [rows for part in self._parts for rows in _rows(part)]
        return [part for part in self._parts if isinstance(part, Rows)]

    @property
    def single_rows(self) -> Iterator[Rows]:
        """Each row for itself."""
        for rows in self.rows:
            for index in range(rows.first, rows.first + rows.run.records):
                record = rows.records[index]
                yield Rows(rows.route, Run(record[0], rows.run.operation, 1, split(record)[1]), rows.records, index)

    @property
    def tables(self) -> Sequence[str]:
        """At the target."""
        return tuple(self._tables)

    @staticmethod
    def regrouped(rows: Iterable[Rows], most: int) -> list[RowGroup]:
        """Groups of these rows, in their order: at least one. `most`: bytes of events in a group, unless one of the
        rows alone has more."""
        groups = [RowGroup()]
        for each in rows:
            size = size_of(each)
            if groups[-1] and (groups[-1].size + size > most or not groups[-1].takes(each)):
                groups.append(RowGroup())
            groups[-1].add(each, size)
        return groups

    def statements(self, loads: Loads | None = None) -> list[Text]:
        """Of BINLOG one; none: nothing is left to do. All table maps come first: a server opens the tables of a
        statement at its first row.

        Args:
            loads: tables whose rows may be inserted by LOAD DATA; None: none.

        Raises SinkError E3425: a value has no literal.
        """
        return self._texts(self._left(1)[0], loads)

    def divided(self, count: int) -> list[list[Text]] | None:
        """The same in `count` parts that do not depend on each other; None: all would be in the first one. Raises as
        `statements`."""
        parts = self._spread(count) if self._snapshot else self._left(count)
        return [self._texts(part) for part in parts] if any(parts[1:]) else None

    def _texts(self, left: Sequence[Rows], loads: Loads | None = None) -> list[Text]:
        if not left:
            return []
        if left[0].route.sql is None:
            return [text(_events(left))]
        made = (statement for rows in left for statement in _sql(rows, loads))
        return list(sql.unchecked(made) if self._marked else made)

    def _spread(self, count: int) -> list[list[Rows]]:
        """Rows of a snapshot, whose keys are all different, among the parts."""
        rows = self.rows
        if any(route.joining.layout is None for route in self._tables.values()):
            return [list(rows)]
        return [list(rows[part::count]) for part in range(count)]

    def _left(self, count: int) -> list[list[Rows]]:
        """The rows as they are executed. Tables without foreign keys among them do not depend on each other."""
        ordered = _related(self._tables.values())
        found: list[list[Rows]] = [[] for _ in range(count)]
        done: set[str] = set()
        for table, (route, runs_of_it, parts) in self._by_table().items():
            layout = route.joining.layout
            if layout is None or (runs_of_it < FEWEST and count == 1) or table.lower() in ordered:
                continue
            joined = divided(parts, layout, EVENT_BYTES, count)
            if joined is not None:
                for part, of_part in zip(found, joined, strict=True):
                    part += (Rows(route, run, (), 0) for run in of_part)
                done.add(table)
        if len(done) < len(self._tables):
            found[0] += (rows for rows in self.rows if rows.route.table not in done)
        return found

    def _by_table(self) -> dict[str, tuple[Route, int, list[Run | Changes]]]:
        """Name -> (route, number of runs, its parts)."""
        found: dict[str, tuple[Route, int, list[Run | Changes]]] = {}

        def take(route: Route, count: int, part: Run | Changes) -> None:
            _, before, parts = found.get(route.table, (route, 0, []))
            parts.append(part)
            found[route.table] = route, before + count, parts

        for part in self._parts:
            if isinstance(part, Rows):
                take(part.route, 1, part.run)
                continue
            for topic in part.section.topics:
                take(part.routes[topic.topic], topic.runs, Changes(part.section, topic.topic))
        return found


def _sql(rows: Rows, loads: Loads | None) -> Iterator[Text]:
    assert rows.route.sql is not None, "routes of one session"  # noqa: S101
    load = loads is not None and loads.uses(rows.route.table)
    try:
        yield from sql.statements(rows.route.sql, rows.run, load=load)
    except NO_TEXT as error:
        raise SinkError(
            "E3425",
            f"a row of {rows.route.table} can't be written by SQL",
            found=str(error),
            wanted="values that SQL has literals for",
            table=rows.route.source,
        ) from error


def _events(left: Sequence[Rows]) -> Iterator[bytes]:
    numbers: dict[str, int] = {}
    for rows in left:
        if rows.route.table not in numbers:
            numbers[rows.route.table] = len(numbers) + 1
            yield rows.route.map(numbers[rows.route.table])
    for index, rows in enumerate(left, 1):
        yield _header(rows, numbers[rows.route.table], last=index == len(left))
        yield rows.run.images


def _related(routes: Iterable[Route]) -> frozenset[str]:
    """Tables whose rows refer to each other, in lower case."""
    known = list(routes)
    parents: set[str] = set()
    for route in known:
        if route.joining.parents is None:
            return frozenset(each.table.lower() for each in known)
        parents |= route.joining.parents
    return frozenset(parents)


def size_of(rows: Rows) -> int:
    """Bytes of its event."""
    images = len(rows.run.images)
    head = rows.route.head_size
    return head + images + (len(rows.route.present) if rows.run.operation[-1:] == _UPDATE else 0)


def _header(rows: Rows, number: int, *, last: bool) -> bytes:
    route, run = rows.route, rows.run
    return events.rows_header(
        OPERATIONS[run.operation[-1:]],
        number,
        route.columns,
        route.present,
        len(run.images),
        last=last,
        unchecked=_unchecked(rows),
    )


def _routes(part: Rows | RoutedSection) -> Iterable[Route]:
    return (part.route,) if isinstance(part, Rows) else part.routes.values()


def _rows(part: Rows | RoutedSection) -> Iterable[Rows]:
    return (part,) if isinstance(part, Rows) else part.rows


def _unchecked(part: Rows | RoutedSection) -> bool:
    if isinstance(part, RoutedSection):
        return part.section.mark == UNCHECKED
    return part.run.operation.startswith(UNCHECKED)


def _of_snapshot(part: Rows | RoutedSection) -> bool:
    return isinstance(part, Rows) and part.run.operation[-1:] == _READ


def text(parts: Iterable[bytes]) -> Text:
    """A BINLOG statement of these events."""
    events = list(parts)
    size = sum(map(len, events))
    if size > _LONG:
        return LongText(text_size(size), partial(_pieces, events))
    return _BEGINS + binascii.b2a_base64(b"".join(events), newline=False) + _ENDS


def _pieces(events: Sequence[bytes]) -> Iterator[bytes]:
    yield _BEGINS
    rest = b""
    for event in events:
        view = memoryview(event)
        at = min(-len(rest) % 3, len(view))
        rest += view[:at]
        if len(rest) == 3:
            yield binascii.b2a_base64(rest, newline=False)
            rest = b""
        if not rest:
            end = len(view) - (len(view) - at) % 3
            for start in range(at, end, _SLICE):
                yield binascii.b2a_base64(view[start : min(start + _SLICE, end)], newline=False)
            rest = bytes(view[end:])
    yield binascii.b2a_base64(rest, newline=False)
    yield _ENDS


def text_size(size: int) -> int:
    """Bytes of the text of a statement whose events have `size` bytes."""
    return (size + 2) // 3 * 4 + _WORDS


def events_size(text: int) -> int:
    """Bytes that the events of a statement of `text` bytes may have."""
    return (text - _WORDS) // 4 * 3
