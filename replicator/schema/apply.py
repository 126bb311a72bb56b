"""Applies CREATE TABLE and ALTER TABLE syntax trees to a table definition."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Final

import msgspec

from replicator.schema import charsets, resolve
from replicator.schema.charsets import Text
from replicator.schema.ddl_ast import (
    AddColumn,
    AddIndex,
    AlterColumn,
    AlterTable,
    Charset,
    Clause,
    ColumnSpec,
    Convert,
    CreateTable,
    DropColumn,
    DropIndex,
    IndexSpec,
    RenameColumn,
    RenameIndex,
    SetOptions,
    TableOptions,
    Versioning,
)
from replicator.schema.definitions import PRIMARY, ROW_END, ColumnDefinition, Index, TableDefinition


class DefinitionMismatch(Exception):
    """The statement speaks of a column or an index that the definition does not have: it is not the server's."""


class TableBuilder:
    """A table while a statement is applied to it."""

    def __init__(self, text: Text, database: Text, *, mariadb: bool) -> None:
        self.columns: list[ColumnDefinition] = []
        self.indexes: list[Index] = []
        self.text = text
        self.comment = self.row_end = ""
        self._database = database
        self._mariadb = mariadb

    @classmethod
    def of(cls, table: TableDefinition, database: Text, *, mariadb: bool) -> TableBuilder:
        draft = cls(table.text, database, mariadb=mariadb)
        draft.columns, draft.indexes = list(table.columns), list(table.indexes)
        draft.comment, draft.row_end = table.comment, table.row_end
        return draft

    def finished(self) -> TableDefinition:
        keys = next((index.columns for index in self.indexes if index.name == PRIMARY), ())
        for name in keys:
            at = self.find(name)
            self.columns[at] = resolve.not_null(self.columns[at])
        if not self.columns:
            raise DefinitionMismatch("a table without columns")
        return TableDefinition(tuple(self.columns), tuple(self.indexes), self.text, self.comment, self.row_end)

    def find(self, name: str) -> int:
        folded = name.lower()
        for at, column in enumerate(self.columns):
            if column.name.lower() == folded:
                return at
        raise DefinitionMismatch(f"no column {name}")

    def has(self, name: str) -> bool:
        folded = name.lower()
        return any(column.name.lower() == folded for column in self.columns)

    # Columns

    def rearrange(self, clauses: Sequence[Clause]) -> None:
        """All that a statement says of columns, at once, as the servers do it: old columns are named as before the
        statement, AFTER names them as behind it."""
        changes, dropped, renamed = self._of_columns(clauses)
        added = [clause for clause in clauses if isinstance(clause, AddColumn)]
        old, self.columns = self.columns, []
        for column in old:
            name = column.name.lower()
            change = changes.get(name)
            if change is not None and not change.place and change.place is not None:
                self.columns.append(self._resolved(change.column))
            elif name in renamed:
                self.columns.append(msgspec.structs.replace(column, name=renamed[name]))
            elif name not in dropped and change is None:
                self.columns.append(column)
        names = {name: change.column.name for name, change in changes.items()} | renamed
        added_names = {clause.column.name.lower() for clause in added if not clause.old}
        self._rename_in_indexes(names, dropped - added_names)  # indexes know columns by name alone
        there = {column.name.lower() for column in old}
        for clause in added:
            self._add(clause, there)
        if len({column.name.lower() for column in self.columns}) < len(self.columns):
            raise DefinitionMismatch("two columns of one name")

    def _of_columns(self, clauses: Sequence[Clause]) -> tuple[dict[str, AddColumn], set[str], dict[str, str]]:
        """By the old names, folded: what is changed, dropped, renamed."""
        changes: dict[str, AddColumn] = {}
        dropped: set[str] = set()
        renamed: dict[str, str] = {}
        for clause in clauses:
            match clause:
                case AddColumn(old=str(old), if_exists=if_exists) if old and self._there(old, if_exists):
                    changes[old.lower()] = clause
                case DropColumn(name, if_exists) if self._there(name, if_exists):
                    dropped.add(name.lower())
                case RenameColumn(old, new, if_exists) if self._there(old, if_exists):
                    renamed[old.lower()] = new
                case AlterColumn():
                    self.alter(clause)
        return changes, dropped, renamed

    def _there(self, name: str, if_exists: bool) -> bool:
        if not if_exists:
            self.find(name)
        return self.has(name)

    def _add(self, clause: AddColumn, there: Container[str]) -> None:
        """New columns, and changed ones that move."""
        draft = clause.column
        if clause.old and (clause.old.lower() not in there or clause.place == ""):
            return
        if clause.unless_exists and self.has(draft.name):
            return
        at = 0 if clause.place is None else self.find(clause.place) + 1 if clause.place else len(self.columns)
        self.columns.insert(at, self._resolved(draft))

    def _resolved(self, draft: ColumnSpec) -> ColumnDefinition:
        if draft.row_end:
            self.row_end = draft.name
        return resolve.definition(draft, self.text, mariadb=self._mariadb)

    def place(self, draft: ColumnSpec) -> None:
        """A column of CREATE TABLE."""
        self.columns.append(self._resolved(draft))

    def keys(self, draft: ColumnSpec) -> None:
        """That stand in the definition of a column."""
        if draft.key:
            self.index(IndexSpec(draft.key, (draft.name,), PRIMARY if draft.key == PRIMARY else ""))

    def _rename_in_indexes(self, names: Mapping[str, str], dropped: Container[str]) -> None:
        kept = []
        for index in self.indexes:
            columns = tuple(names.get(name.lower(), name) for name in index.columns if name.lower() not in dropped)
            if columns or not index.columns:
                kept.append(msgspec.structs.replace(index, columns=columns))
        self.indexes = kept

    def alter(self, clause: AlterColumn) -> None:
        at = self.find(clause.name)
        column = self.columns[at]
        declared = column.declared
        if clause.dropped:
            declared = msgspec.structs.replace(
                declared, has_default=False, default=None, default_is_expression=False, default_is_literal=False
            )
        elif clause.default is not None:
            given = clause.default
            declared = msgspec.structs.replace(
                declared,
                has_default=True,
                default=given.text,
                default_is_expression=given.expression,
                default_is_literal=given.literal,
            )
        if self._mariadb and clause.default is not None:
            declared = msgspec.structs.replace(declared, on_update="")
        visible = column.visible if clause.visible is None else clause.visible
        self.columns[at] = msgspec.structs.replace(column, declared=declared, visible=visible)

    # Indexes

    def index(self, draft: IndexSpec) -> None:
        name = draft.name or self._free_name(draft)
        if any(index.name.lower() == name.lower() for index in self.indexes):
            if draft.unless_exists or (draft.kind == PRIMARY and not draft.name):
                return
            raise DefinitionMismatch(f"the index {name} already exists")
        columns = tuple(self.columns[self.find(column)].name for column in draft.columns)
        self.indexes.append(Index(name, columns, draft.kind != "INDEX", draft.whole))

    def _free_name(self, draft: IndexSpec) -> str:
        """The server's choice: the first column, then with _2, _3 ..."""
        first = draft.columns[0] if draft.columns else "functional_index"
        taken = {index.name.lower() for index in self.indexes}
        if first.lower() not in taken and first.upper() != PRIMARY:
            return first
        return next(name for name in (f"{first}_{number}" for number in range(2, 10_000)) if name.lower() not in taken)

    def drop_index(self, clause: DropIndex) -> None:
        folded = clause.name.lower()
        kept = [index for index in self.indexes if index.name.lower() != folded]
        if len(kept) == len(self.indexes) and clause.name == PRIMARY and not clause.if_exists:
            raise DefinitionMismatch("no primary key")
        self.indexes = kept  # other indexes may be those that a foreign key made: not ours to count

    def rename_index(self, clause: RenameIndex) -> None:
        folded = clause.old.lower()
        self.indexes = [
            msgspec.structs.replace(index, name=clause.new) if index.name.lower() == folded else index
            for index in self.indexes
        ]

    # The table

    def options(self, options: TableOptions) -> None:
        if options.charset:
            self.text = charsets.resolve(options.charset, self.text, mariadb=self._mariadb)
        if options.comment is not None:
            self.comment = options.comment
        if options.versioned:
            self.versioning(True)

    def convert(self, clause: Convert) -> None:
        self.text = charsets.resolve(clause.charset, self._database, mariadb=self._mariadb)
        self.columns = [resolve.converted(column, self.text, mariadb=self._mariadb) for column in self.columns]

    def versioning(self, added: bool) -> None:
        """ADD and DROP SYSTEM VERSIONING, and the option of CREATE TABLE."""
        self.row_end = (self.row_end or ROW_END) if added else ""

    def apply(self, clause: Clause) -> None:
        """A clause that is not of columns."""
        match clause:
            case AddIndex(index):
                self.index(index)
            case DropIndex():
                self.drop_index(clause)
            case RenameIndex():
                self.rename_index(clause)
            case Convert():
                self.convert(clause)
            case SetOptions(options):
                self.options(options)
            case Versioning(added):
                self.versioning(added)


_FIRST: Final = (SetOptions, Convert, Versioning, DropIndex, RenameIndex)


def created(statement: CreateTable, database: Text, *, mariadb: bool) -> TableDefinition:
    """Raises DefinitionMismatch for an index over a column that is not there."""
    draft = TableBuilder(
        charsets.resolve(statement.options.charset, database, mariadb=mariadb), database, mariadb=mariadb
    )
    for column in statement.columns:
        draft.place(column)
    draft.options(msgspec.structs.replace(statement.options, charset=Charset()))
    for column in statement.columns:
        draft.keys(column)
    for index in statement.indexes:
        draft.index(index)
    return draft.finished()


def altered(table: TableDefinition, statement: AlterTable, database: Text, *, mariadb: bool) -> TableDefinition:
    """As the servers do it: what is dropped and renamed is named as before the statement; new columns inherit the new
    options; new indexes name new columns. Raises DefinitionMismatch."""
    draft = TableBuilder.of(table, database, mariadb=mariadb)
    for clause in statement.clauses:
        if isinstance(clause, _FIRST):
            draft.apply(clause)
    draft.rearrange(statement.clauses)
    for clause in statement.clauses:
        if isinstance(clause, AddColumn) and draft.has(clause.column.name):
            draft.keys(clause.column)
        elif isinstance(clause, AddIndex):
            draft.apply(clause)
    return draft.finished()
