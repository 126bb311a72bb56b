"""Decides whether a statement of one of several tables that are merged is executed at the target.

The first table's statement changes the target's table; equal ones of the other tables find what they would make. The
target has to take the rows of all tables meanwhile, so that columns are only added and made wider. See DESIGN.md.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final

from replicator.errors import SinkError
from replicator.model import types
from replicator.model.collations import charset
from replicator.model.metadata_event import TableKey
from replicator.model.table import Column, Declared
from replicator.model.target_statement import ShardChange
from replicator.model.target_table import TargetTable
from replicator.mysql.identifiers import quote_identifier
from replicator.mysql.server import Server
from replicator.mysql.session import Session
from replicator.mysql.table_shape import ColumnShape
from replicator.sink.mysql import target_definition
from replicator.sink.mysql.conversions import conversion
from replicator.sink.mysql.target_columns import problems
from replicator.sink.mysql.target_definition import Definition
from replicator.sink.mysql.transcoding import Step

DONE: Final = frozenset({1007, 1050, 1061, 1091, 1826})
"""Errors of a statement without columns that another table's statement has executed before: what it makes exists, what
it drops does not."""
_DEFAULTS: Final = (
    "SELECT COLUMN_NAME, COLUMN_DEFAULT FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s"
)
_INDEXES: Final = (
    "SELECT INDEX_NAME, COLUMN_NAME, NON_UNIQUE, SUB_PART FROM information_schema.STATISTICS "
    "WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s ORDER BY INDEX_NAME, SEQ_IN_INDEX"
)


class Misfit(Exception):
    """The statement can't be executed: why, and the remedy."""


def is_done(session: Session, server: Server, change: ShardChange, fails: Callable[[str], bool]) -> bool:
    """Whether the target's table is already as the statement makes it, for the rows of this table.

    Args:
        fails: executes a statement that may read all rows of a table; whether it fails by `errors.NOT_ONE_ROW`.

    Raises:
        Misfit: it is not, and the statement would make it unfit for rows of other tables.
        SinkUnavailable, SinkError.
    """
    after = change.after
    try:
        definition = target_definition.read(session, server, after.database, after.name, after.source)
    except SinkError as error:
        if error.code != "E3421":
            raise
        return False  # created now, or the server will say so
    if change.before is None:
        return _created(after, definition, server)
    changed, wider = _Columns(change.before, after), _wider(change, definition)
    if not changed:
        return bool(wider) or (bool(change.indexes) and _have(session, after, change.indexes))
    if changed.done(definition, server):
        changed.check_filled(definition, _defaults(session, after), fails)
        return True
    if wider:
        raise Misfit(f"it defines {wider[0]}, which is wider at the target", _by_hand("Do the rest of it"))
    return False


def _by_hand(what: str) -> str:
    return f"{what} at the target by hand; then `replicator task skip NAME`."


def _wider(change: ShardChange, definition: Definition) -> list[str]:
    """Columns that the statement defines and would make narrower at the target."""
    there = {shape.name.lower(): shape for shape in definition.shape.columns}
    defined = _folded(change.defined)
    found = []
    for column in change.after.columns:
        shape = there.get(column.name.lower())
        if shape is None or column.name.lower() not in defined:
            continue
        if not isinstance(conversion(_column(shape), _shape(column), same_server=True), Step):
            found.append(column.name)
    return found


def _created(after: TargetTable, definition: Definition, server: Server) -> bool:
    found = problems(after, definition, mariadb=server.mariadb)
    if found:
        raise Misfit(
            "the table exists at the target and does not fit: " + "; ".join(f"{p.column}: {p.why}" for p in found[:5]),
            "Change the target's table so that it takes these rows, too; then `replicator task retry NAME`.",
        )
    return True


class _Columns:
    """Of one table before and after a statement, by their names at the target in lower case."""

    def __init__(self, before: TargetTable, after: TargetTable) -> None:
        old = {column.name.lower(): column for column in before.columns}
        new = {column.name.lower(): column for column in after.columns}
        self._after = after
        self._disjoint = after.shard is None or after.shard.disjoint
        self._dropped = [old[name] for name in old if name not in new and name not in _folded(after.omitted)]
        self._added = [new[name] for name in new if name not in old and name not in _folded(before.omitted)]
        self._altered = [(old[name], new[name]) for name in new if name in old and _differ(old[name], new[name])]

    def __bool__(self) -> bool:
        return bool(self._dropped or self._added or self._altered)

    def done(self, definition: Definition, server: Server) -> bool:
        """Raises Misfit."""
        for old, new in self._altered:
            self._check_wider(old, new)
        touched = [*self._added, *(new for _, new in self._altered)]
        there = {column.name.lower() for column in definition.shape.columns}
        unfit = {one.column.lower(): one for one in problems(self._after, definition, mariadb=server.mariadb)}
        missing = [column for column in touched if column.name.lower() in unfit]
        if self._dropped:
            self._check_dropped(unfit.keys(), missing)
            return True
        wrong = [column for column in self._added if column.name.lower() in there and column in missing]
        if wrong:
            why = unfit[wrong[0].name.lower()].why
            raise Misfit(
                f"the target has a column {wrong[0].name} that does not fit: {why}", _by_hand("Make the column wider")
            )
        if missing and len(missing) < len(touched):
            raise Misfit(
                f"a part of it is at the target already, and {missing[0].name} is not", _by_hand("Do the rest")
            )
        return not missing

    def _check_dropped(self, unfit: Collection[str], missing: Sequence[Column]) -> None:
        """Other tables may have the columns still: they stay at the target."""
        name = self._dropped[0].name
        if self._disjoint:
            raise Misfit(
                f"it drops {name}, which rows of other tables may have",
                _by_hand(f"Leave {name} as it is, nullable or with a default, until all of the tables have dropped it"),
            )
        if missing:
            raise Misfit(
                f"it drops {name}, which rows of other tables may have, and {missing[0].name} is not at the target",
                _by_hand(f"Add {missing[0].name} and keep {name}"),
            )
        lacking = [column.name for column in self._dropped if column.name.lower() in unfit]
        if lacking:
            raise Misfit(
                f"rows of other tables may have {lacking[0]}, which is NOT NULL without a default at the target",
                f"ALTER TABLE {self._name} ALTER COLUMN {quote_identifier(lacking[0])} SET DEFAULT ...; or make it "
                "nullable; then `replicator task retry NAME`.",
            )

    def _check_wider(self, old: Column, new: Column) -> None:
        fits = isinstance(conversion(old, _shape(new), same_server=True), Step) and (new.nullable or not old.nullable)
        if not fits:
            raise Misfit(
                f"rows of other tables, which have {old.name} as it was, may not fit into its new type",
                _by_hand("Make the change when all of the tables have it"),
            )

    def check_filled(
        self, definition: Definition, defaults: Mapping[str, str | None], fails: Callable[[str], bool]
    ) -> None:
        """Of columns that were at the target before: rows of this table have got the default of its own statement at
        the source. Raises Misfit."""
        for column in self._added:
            declared = column.declared
            if declared is None or declared.generated:
                continue
            if self._disjoint or column.type == types.FLOAT:  # no literal is surely equal to one
                self._check_default(column, declared, definition, defaults, fails)
            else:
                self._check_rows(column, declared, fails)

    def _check_default(
        self,
        column: Column,
        declared: Declared,
        definition: Definition,
        defaults: Mapping[str, str | None],
        fails: Callable[[str], bool],
    ) -> None:
        """Which rows are of this table is not known: the defaults are compared."""
        shape = next(one for one in definition.shape.columns if one.name.lower() == column.name.lower())
        theirs, value = defaults.get(column.name.lower()), _filled(column, declared)
        if theirs is None or theirs.upper() == "NULL":
            same = value == "NULL" if shape.nullable else not (declared.has_default or column.nullable)
        elif column.type == types.FLOAT or value is None:
            same = _same_default(declared.default if declared.has_default else None, theirs)
        else:
            default = f"SELECT NOT (DEFAULT({quote_identifier(column.name)}) <=> {value}) FROM {self._name} LIMIT 1"  # noqa: S608
            same = not fails(f"SET @replicator_filled = IF(({default}), (SELECT 1 UNION ALL SELECT 2), 1)")
        if not same:
            raise Misfit(
                f"the target has {column.name} with another default than rows of this table have got",
                _by_hand(f"Write the value of {column.name} into the rows of {self._after.source}"),
            )

    def _check_rows(self, column: Column, declared: Declared, fails: Callable[[str], bool]) -> None:
        shard, value = self._after.shard, _filled(column, declared)
        assert shard is not None, "not disjoint"  # noqa: S101
        if value is None:
            raise Misfit(f"the first value of {column.name} is not known", _by_hand("Write it into the rows"))
        name, own = quote_identifier(column.name), list(zip(shard.columns, shard.values, strict=True))
        condition = " AND ".join(f"{quote_identifier(each)} = {_literal(text)}" for each, text in own)
        others = f"SELECT 1 FROM {self._name} WHERE {condition} AND NOT ({name} <=> {value})"  # noqa: S608 (quoted)
        if fails(f"SET @replicator_filled = IF(EXISTS({others}), (SELECT 1 UNION ALL SELECT 2), 1)"):
            text = "NULL" if value == "NULL" else f"'{declared.default or ''}', its default"
            rows = " and ".join(f"{each} = '{text}'" for each, text in own)
            raise Misfit(
                f"rows of the table have other values in {column.name} at the target than the source has given them",
                f"Set {column.name} of {self._name} to {text}, in the rows with {rows}, at the target; then "
                "`replicator task retry NAME`.",
            )

    @property
    def _name(self) -> str:
        return f"{quote_identifier(self._after.database)}.{quote_identifier(self._after.name)}"


def _filled(column: Column, declared: Declared) -> str | None:
    """The value of an added column in rows that are there, as SQL; None: not known."""
    if declared.has_default:
        if declared.default is None:
            return "NULL"
        text = declared.default if declared.default_is_literal else _literal(declared.default)
        if column.type == types.STRING and column.collation == types.BINARY_COLLATION:
            return f"CAST({text} AS BINARY({column.meta}))"  # with zeros behind it
        return text
    if column.nullable:
        return "NULL"
    if column.type in types.INTEGERS | {types.NEWDECIMAL, types.FLOAT, types.DOUBLE, types.YEAR, types.BIT}:
        return "0"
    if column.type == types.ENUM and column.members:
        return _literal(column.members[0])
    return "''" if column.type in types.CHARACTERS | types.BLOBS | {types.SET} else None


def _literal(text: str) -> str:
    return f"_utf8mb4 X'{text.encode().hex()}'" if text else "''"


def _folded(names: Iterable[str]) -> set[str]:
    return {name.lower() for name in names}


def _differ(one: Column, other: Column) -> bool:
    def form(column: Column) -> tuple[object, ...]:
        text = charset(column.collation) if column.collation is not None else ""
        sized = column.type, column.meta, column.nullable, column.unsigned, column.members
        return (*sized, text, column.geometry, column.dimensions)

    return form(one) != form(other)


def _column(shape: ColumnShape) -> Column:
    return Column(
        0,
        shape.name,
        shape.type,
        shape.meta,
        shape.nullable,
        shape.unsigned,
        shape.collation,
        shape.texts,
        shape.geometry,
        shape.visible,
        shape.dimensions,
    )


def _shape(column: Column) -> ColumnShape:
    return ColumnShape(
        column.name,
        column.type,
        column.meta,
        column.nullable,
        "",
        column.unsigned,
        column.collation,
        (),
        column.members,
        column.geometry,
        column.visible,
        column.dimensions,
        charset(column.collation) if column.collation is not None else "",
    )


def _same_default(ours: str | None, theirs: str | None) -> bool:
    """MariaDB quotes texts."""
    if ours is None or theirs is None:
        return ours is theirs
    bare = theirs[1:-1].replace("''", "'") if theirs[:1] == "'" else theirs
    if ours == bare:
        return True
    try:
        return float(ours) == float(bare)
    except ValueError:
        return False


def _defaults(session: Session, table: TargetTable) -> dict[str, str | None]:
    rows = session.rows(_DEFAULTS, (table.database, table.name))
    return {str(name).lower(): None if default is None else str(default) for name, default in rows}


def _have(session: Session, table: TargetTable, wanted: Iterable[TableKey]) -> bool:
    """Whether the table has all of the indexes; those over parts of columns or expressions by their names."""
    found: dict[str, list[str]] = {}
    unique: dict[str, bool] = {}
    for name, column, other, part in session.rows(_INDEXES, (table.database, table.name)):
        folded = str(name).lower()
        found.setdefault(folded, []).append("" if column is None or part is not None else str(column).lower())
        unique[folded] = not int(other)
    return all(_has(found, unique, key) for key in wanted)


def _has(found: dict[str, list[str]], unique: dict[str, bool], key: TableKey) -> bool:
    if key.name and key.name.lower() not in found:
        return False
    columns = [column.lower() for column in key.columns]
    names = [key.name.lower()] if key.name else list(found)
    if not key.whole:
        return bool(key.name)
    return any(found[name] == columns and unique[name] == key.unique for name in names)


def tolerated(number: int, change: ShardChange | None) -> bool:
    """Whether an error says that the statement of another table has been executed before."""
    if change is None or number not in DONE:
        return False
    return change.before is None or not _Columns(change.before, change.after)
