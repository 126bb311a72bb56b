"""A schema history at work without a server: a task, its statements, and a server whose definitions are given."""

from __future__ import annotations

from collections.abc import Iterator

from replicator.checkpoint.history import MemoryHistory
from replicator.config.tables import TableFilter
from replicator.model import types
from replicator.model.metadata_event import Statement
from replicator.model.position import Position
from replicator.model.schema_history import BinlogStatement, ServerDefinitions, TableText
from replicator.model.table import Column, Table
from replicator.schema.catalog import SchemaCatalog
from replicator.schema.history import History

UUID = "11111111-1111-1111-1111-111111111111"
CREATE = "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(5))"
ODD = "ALTER TABLE t FLIP COLUMN v"


class Task:
    """A task over `d.*` whose statements stand at offsets 100, 200, ..., the n-th with the GTID n."""

    def __init__(
        self,
        reading: ServerDefinitions | None = None,
        *ahead: tuple[int, str],
        gtids: bool = True,
        needed: bool = False,
        stale: str = "",
    ) -> None:
        self.store = MemoryHistory()
        self.live = DefinitionSource(self, reading, *ahead) if reading is not None else None
        self._gtids = gtids
        self._stale = stale
        self._needed = needed
        self.tables = ["d.*", "!d.not_ours"]
        self.catalog = self.at(1)

    def position(self, number: int) -> Position:
        """Before the statement of this number."""
        gtid = f"{UUID}:1-{number - 1}" if number > 1 else ""
        return Position("b.000001", 100 * number, gtid if self._gtids else self._stale)

    def at(self, number: int, *left_out: str) -> SchemaCatalog:
        history = History(self.store, mariadb=False, live=self.live, scope=self.tables, choose=TableFilter)
        return SchemaCatalog(
            history, self.position(number), TableFilter(self.tables), needed=self._needed, left_out=left_out
        )

    def say(self, number: int, text: str, catalog: SchemaCatalog | None = None) -> Statement:
        return (catalog or self.catalog).statement("d", text, self.position(number), self.gtid(number))

    def gtid(self, number: int) -> str:
        return f"{UUID}:{number}" if self._gtids else ""


class DefinitionSource:
    """A server with these definitions, and with these statements in its log, by number."""

    def __init__(self, task: Task, reading: ServerDefinitions, *statements: tuple[int, str]) -> None:
        self.reading = reading
        self.readings: list[ServerDefinitions] = []
        self.log = statements
        self.looked: list[tuple[Position, Position]] = []
        self._task = task

    def read(self) -> ServerDefinitions:
        return self.readings.pop(0) if self.readings else self.reading

    def statements(self, start: Position, end: Position) -> Iterator[BinlogStatement]:
        self.looked.append((start, end))
        for number, text in self.log:
            position = self._task.position(number)
            if start.offset <= position.offset < end.offset:
                yield BinlogStatement("d", text, Position(position.file, position.offset), self._task.gtid(number))


def event(*kinds: int, name: str = "t", names: tuple[str, ...] = ()) -> Table:
    columns = tuple(
        Column(at, names[at] if names else f"@{at + 1}", kind, 20 if kind == types.VARCHAR else 0)
        for at, kind in enumerate(kinds)
    )
    return Table("d", name, columns)


ROW = event(types.LONG, types.VARCHAR)


def described(catalog: SchemaCatalog, table: Table = ROW) -> list[str]:
    return [column.name for column in catalog.describe(table, named=False).columns]


def reading(number: int, *texts: str) -> ServerDefinitions:
    """As of the statement of this number."""
    tables = tuple(TableText("d", text.split()[2], text) for text in texts)
    gtid = f"{UUID}:1-{number - 1}" if number > 1 else ""
    return ServerDefinitions(Position("b.000001", 100 * number, gtid), tables, {"d": ("utf8mb4", "utf8mb4_bin")})


LATER = ("CREATE TABLE t (id INT, w VARCHAR(5))", "CREATE TABLE u (x INT)")
