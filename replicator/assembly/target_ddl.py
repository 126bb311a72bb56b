"""Statements of the source with the names that transforms give to databases, tables and columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Final

from replicator.assembly.shard_statements import BY_HAND, ShardStatements
from replicator.config.tables import TableFilter
from replicator.config.task import TaskConfig
from replicator.encode.target_statements import Rewriting
from replicator.errors import ReplicatorError
from replicator.model.metadata_event import Statement, TableChange
from replicator.model.table import Table
from replicator.schema.rewrite import Added, Columns, Inherited, NoRewrite, rewrite
from replicator.schema.rewrite.dialect import translated
from replicator.schema.rewrite.online_change import swapped
from replicator.schema.rewrite.undetermined import refuse_undetermined
from replicator.schema.token_cursor import Name
from replicator.transform.chain import Chain
from replicator.transform.view import View

_CREATE: Final = re.compile(r"\b(DATABASE|SCHEMA)\s+(?!IF\b)", re.IGNORECASE)


def statement_rewriter(config: TaskConfig, chain: Chain) -> Callable[[Statement], Rewriting]:
    """Never raises: what can't be rewritten is refused, with the reason."""
    choice, mariadb = config.source.selection(), config.source.type == "mariadb"
    to_mariadb = config.sink.type == "mariadb"
    shards = ShardStatements(chain, choice, mariadb=mariadb)

    def rewriting(statement: Statement) -> Rewriting:
        names = StatementNames(chain, choice, config, statement)
        try:
            refuse_undetermined(statement, mariadb=mariadb)
            shard = shards.change(statement)
            sql = swapped(statement, names, hidden=_hidden(choice))
            if sql is not None and mariadb != to_mariadb:
                sql = translated(sql, mariadb=mariadb)
            elif sql is None:
                made = rewrite(
                    statement.text,
                    statement.database,
                    names,
                    mariadb=mariadb,
                    to_mariadb=to_mariadb,
                    inherited=_inherited(statement),
                )
                sql, names.renames = made.sql, made.renames
            if shard is None and sql:
                names.refuse_merged()
            if names.shared and statement.kind == "CREATE DATABASE":
                sql = _CREATE.sub(r"\1 IF NOT EXISTS ", sql, count=1)
        except NoRewrite as error:
            return Rewriting("", names.used, names.databases, refusal=str(error.args[0]), fix=error.fix)
        except ReplicatorError as error:
            return Rewriting("", names.used, names.databases, refusal=error.what, fix=error.fix)
        return Rewriting(sql, names.used, names.databases, names.renames, shard=shard)

    return rewriting


def _inherited(statement: Statement) -> Inherited | None:
    """By the table that it creates. The collation is that of the columns which have the table's character set."""
    created = next((change.table for change in statement.changes if change.verb == "CREATE"), None)
    if created is None or not created.charset:
        return None
    declared = [column.declared for column in created.columns if column.declared is not None]
    collations = {one.collation for one in declared if one.charset == created.charset and one.collation}
    return Inherited(created.charset, collations.pop() if len(collations) == 1 else "")


def _hidden(choice: TableFilter) -> Callable[[Name], bool]:
    """Tables of online schema changes that the task does not replicate."""
    shown = TableFilter(choice.patterns)
    return lambda name: shown.matches(*name) and not choice.matches(*name)


class StatementNames:
    """`schema.rewrite.TargetNames` for one statement.

    Attributes:
        used: tables at the target that it names.
        sources: the same at the source.
        databases: that it is about.
        shared: tables of other databases go to the same one.
        renames: see `TargetStatement`.
    """

    def __init__(self, chain: Chain, choice: TableFilter, config: TaskConfig, statement: Statement) -> None:
        self._chain = chain
        self._choice = choice
        self._renames = config.transforms.rename
        self._changes = statement.changes
        self._kind = statement.kind
        self.used: tuple[Name, ...] = ()
        self.sources: tuple[Name, ...] = ()
        self.databases: tuple[str, ...] = ()
        self.shared = False
        self.renames: tuple[tuple[Name, Name], ...] = ()

    def table(self, name: Name) -> Name | None:
        known = self._stored(name)
        if not self._choice.matches(*known):
            return None
        target = self._chain.name(Table(*known, ()))
        self.used = tuple(dict.fromkeys((*self.used, target)))
        self.sources = tuple(dict.fromkeys((*self.sources, known)))
        return target

    def _stored(self, name: Name) -> Name:
        """As the events of rows write it: servers may fold the letters of a statement."""
        known = [found for change in self._changes for found in _names(change)]
        if name in known:
            return name
        folded = (name[0].lower(), name[1].lower())
        return next((found for found in known if (found[0].lower(), found[1].lower()) == folded), name)

    def added(self, name: Name) -> tuple[Added, ...]:
        return tuple(Added(column, key) for column, key in self._chain.added(Table(*self._stored(name), ())))

    def columns(self, name: Name) -> Columns:
        stored = self._stored(name)
        if not self._chain.changes_columns(Table(*stored, ())):
            return Columns()
        tables = [table for change in self._changes for table in (change.before, change.table) if table is not None]
        views = [self._chain.view(table) for table in tables if (table.database, table.name) == stored]
        if not views:
            raise NoRewrite(
                f"transforms concern columns of {'.'.join(name)}, and its definition is not known",
                "Change the table at the target by hand; then `replicator task skip NAME`.",
            )
        known = [table for table in tables if (table.database, table.name) == stored]
        return _merged(views, known, self.added(name))

    def database(self, name: str) -> str | None:
        if not self._choice.touches(name):
            return None
        target = name
        for rule in self._renames:
            if TableFilter(rule.tables).touches(name):
                whole = any(pattern in (f"{name}.*", "*.*") for pattern in rule.tables)
                if rule.database is not None and not whole and not self._is_all(name, rule.tables):
                    raise NoRewrite(
                        f"only some tables of the database {name} go to {rule.database}",
                        "Execute the statement at the target by hand; then `replicator task skip NAME`.",
                    )
                target = rule.database or name
                break
        self.shared = self._shares_database(name, target)
        if self.shared and self._kind != "CREATE DATABASE":
            raise NoRewrite(
                f"tables of other databases go to {target}, too",
                "Execute the statement at the target by hand as far as needed; then `replicator task skip NAME`.",
            )
        self.databases = (*self.databases, target)
        return target

    def _is_all(self, name: str, patterns: Collection[str]) -> bool:
        """Whether these patterns have all that the task replicates of a database."""
        chosen = [
            each for each in self._choice.patterns if not each.startswith("!") and TableFilter((each,)).touches(name)
        ]
        return bool(chosen) and all(each in patterns or f"{each.partition('.')[0]}.*" in patterns for each in chosen)

    def refuse_merged(self) -> None:
        """Raises NoRewrite: the statement is not known to change one of the merged tables that it names."""
        for source in self.sources:
            shard = self._chain.shard(Table(*source, ()))
            if shard is not None and (not shard.disjoint or not self._changes):
                raise NoRewrite(f"it names {'.'.join(source)}, which is merged with other tables", BY_HAND)

    def _shares_database(self, name: str, target: str) -> bool:
        """Whether a table of another database could be written to the same one."""
        if target != name and self._choice.touches(target):
            return True
        rules = [rule for rule in self._renames if rule.database == target]
        patterns = [pattern for rule in rules for pattern in rule.tables if not pattern.startswith("!")]
        return any(pattern.partition(".")[0] != name for pattern in patterns)


def _names(change: TableChange) -> list[Name]:
    own = (change.database, change.name)
    return [own] if change.new_name is None else [own, change.new_name]


def _merged(views: list[View], tables: list[Table], added: tuple[Added, ...]) -> Columns:
    """Of the table before and after the statement: each column by its name at that time."""
    renamed: dict[str, str] = {}
    hidden: set[str] = set()
    masked: set[str] = set()
    for view, table in zip(views, tables, strict=True):
        pairs = zip(view.origins, view.table.columns, strict=True)
        shown = {origin.column: column for origin, column in pairs if origin.constant is None}
        for column in table.columns:
            there = shown.get(column.index)
            if there is None:
                hidden.add(column.name.lower())
            elif there.name != column.name:
                renamed[column.name.lower()] = there.name
        for origin in view.origins:
            if origin.constant is None and (origin.mask is not None or origin.nothing):
                masked.add(table.columns[origin.column].name.lower())
    return Columns(renamed, frozenset(hidden), frozenset(masked), added)
