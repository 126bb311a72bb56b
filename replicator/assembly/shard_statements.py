"""What statements do to tables that are merged into one of the target: whether they may be executed there at all."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from replicator.config.tables import TableFilter
from replicator.encode.row_images import target_table
from replicator.model.metadata_event import Statement, TableChange, TableKey
from replicator.model.table import Declared, Table
from replicator.model.target_statement import ShardChange
from replicator.model.target_table import Shard, TargetTable
from replicator.schema import parser
from replicator.schema.ddl_ast import AddColumn, AddIndex, AlterTable, Clause, Convert
from replicator.schema.rewrite import NoRewrite
from replicator.schema.rewrite.column_text import literal
from replicator.schema.rewrite.names import quoted
from replicator.schema.token_cursor import Name
from replicator.schema.tokens import NotUnderstood, tokenize
from replicator.transform.chain import Chain

BY_HAND: Final = "Change the table at the target as far as needed; then `replicator task skip NAME`."
_RENAMED: Final = (
    "If `transforms.add` takes a text from the name, write that of the new name into the rows of the table at the "
    "target; then `replicator task skip NAME`."
)
_REMOVING: Final = frozenset(
    {("OR", "REPLACE"), ("DROP", "PARTITION"), ("TRUNCATE", "PARTITION"), ("CONVERT", "PARTITION")}
)
_VALUES: Final = "Add the column at the target with the values of each table; then `replicator task skip NAME`."


class ShardStatements:
    """`mariadb`: flavor of the source."""

    def __init__(self, chain: Chain, choice: TableFilter, *, mariadb: bool) -> None:
        self._chain = chain
        self._choice = choice
        self._mariadb = mariadb

    def change(self, statement: Statement) -> ShardChange | None:
        """None: it concerns no merged table. Raises NoRewrite: at the target it would change rows of other tables."""
        found = [change for change in statement.changes if any(self._shard(name) for name in _names(change))]
        if not found:
            return None
        swapped = self._swapped(found)
        if swapped is not None:
            return swapped
        change = found[0]
        name = f"{change.database}.{change.name}"
        if change.verb in ("DROP", "TRUNCATE") or _removes_rows(statement, mariadb=self._mariadb):
            raise NoRewrite(f"{name} is one of several tables that are merged at the target", self._deletion(change))
        if change.verb == "RENAME" or len(found) > 1:
            raise NoRewrite(f"{name} is one of several tables that are merged at the target, and is renamed", _RENAMED)
        if change.table is None or (change.verb == "ALTER" and change.before is None):
            raise NoRewrite(f"the definition of {name}, which is merged with other tables, is not known", BY_HAND)
        _refuse_values(statement, mariadb=self._mariadb)
        before = None if change.before is None or change.verb == "CREATE" else self._images(change.before)
        names, operation = self._names(change.table), parser.parse(statement.text, mariadb=self._mariadb).operation
        clauses = operation.clauses if isinstance(operation, AlterTable) else ()
        indexes = tuple(self._indexes(clauses, names, self._chain.shard(change.table)))
        return ShardChange(before, self._images(change.table), indexes, tuple(_defined(clauses, names)))

    def _swapped(self, found: list[TableChange]) -> ShardChange | None:
        """An online schema change that ends: its copy, which is not replicated, gets the name of the table."""
        for copy in found:
            table = copy.new_name
            if table is None or self._choice.matches(copy.database, copy.name) or copy.table is None:
                continue
            former = next((each for each in found if (each.database, each.name) == table), None)
            if former is not None and former.before is not None:
                known = {column.name.lower() for column in former.before.columns}
                for column in copy.table.columns:
                    if column.name.lower() not in known and column.declared is not None:
                        _refuse_value(column.name, column.declared)
                after = Table(*table, copy.table.columns, copy.table.primary_key, copy.table.mariadb)
                return ShardChange(
                    self._images(former.before), self._images(after), (), tuple(self._names(former.before).values())
                )
        return None

    def _shard(self, name: Name) -> Shard | None:
        return self._chain.shard(Table(*name, ())) if self._choice.matches(*name) else None

    def _images(self, table: Table) -> TargetTable:
        return target_table(self._chain.view(table).table, table.qualified, self._chain.shard(table))

    def _deletion(self, change: TableChange) -> str:
        source = Table(change.database, change.name, ())
        shard, target = self._chain.shard(source), ".".join(map(quoted, self._chain.name(source)))
        if shard is None or shard.disjoint:
            return f"Delete the rows of the table from {target} at the target; then `replicator task skip NAME`."
        pairs = zip(shard.columns, shard.values, strict=True)
        condition = " AND ".join(f"{quoted(column)} = {literal(value)}" for column, value in pairs)
        return f"Delete the rows WHERE {condition} from {target} at the target; then `replicator task skip NAME`."

    def _names(self, table: Table) -> dict[str, str]:
        """Column of the source in lower case -> its name at the target."""
        view = self._chain.view(table)
        return {
            table.columns[origin.column].name.lower(): column.name
            for column, origin in zip(view.table.columns, view.origins, strict=True)
            if origin.constant is None
        }

    @staticmethod
    def _indexes(clauses: Sequence[Clause], names: Mapping[str, str], shard: Shard | None) -> Iterator[TableKey]:
        for clause in clauses:
            index = clause.index if isinstance(clause, AddIndex) else None
            if index is not None and index.kind != "PRIMARY":
                unique = index.kind == "UNIQUE"
                more = shard.columns if unique and shard is not None else ()
                columns = (*(names.get(column.lower(), column) for column in index.columns), *more)
                yield TableKey(index.name, columns, unique, index.whole)


def _defined(clauses: Sequence[Clause], names: Mapping[str, str]) -> Iterator[str]:
    for clause in clauses:
        if isinstance(clause, AddColumn) and clause.old and clause.column.name.lower() in names:
            yield names[clause.column.name.lower()]
        elif isinstance(clause, Convert):
            yield from names.values()


def _names(change: TableChange) -> list[Name]:
    own = (change.database, change.name)
    return [own] if change.new_name is None else [own, change.new_name]


def _refuse_values(statement: Statement, *, mariadb: bool) -> None:
    """Raises NoRewrite for a new column whose values in the rows of each table follow from its own statement."""
    try:
        operation = parser.parse(statement.text, mariadb=mariadb).operation
    except NotUnderstood as error:
        raise NoRewrite(f"the statement can't be parsed, and concerns merged tables: {error}", BY_HAND) from error
    for clause in operation.clauses if isinstance(operation, AlterTable) else ():
        if isinstance(clause, AddColumn) and not clause.old:
            _refuse_value(clause.column.name, clause.column.declared)


def _refuse_value(column: str, declared: Declared) -> None:
    if declared.auto_increment or (declared.default_is_expression and not declared.generated):
        raise NoRewrite(f"rows of merged tables get values of {column} when each of them is altered", _VALUES)


def _removes_rows(statement: Statement, *, mariadb: bool) -> bool:
    """Whether rows go without an event of rows: CREATE OR REPLACE, and partitions that are emptied or taken away."""
    try:
        words = [token.value.upper() for token in tokenize(statement.text, mariadb=mariadb)]
    except NotUnderstood:
        return True
    return any(pair in _REMOVING for pair in itertools.pairwise(words))
