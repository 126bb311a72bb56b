"""Clauses of ALTER TABLE applied to a definition."""

from __future__ import annotations

from typing import Final

import msgspec

from replicator.schema import charsets, resolve
from replicator.schema.charsets import Text
from replicator.schema.definitions import PRIMARY, ROW_END, ColumnDefinition, Index, TableDefinition
from replicator.schema.drafts import (
    AddColumn,
    AddIndex,
    AlterColumn,
    AlterTable,
    Charset,
    Clause,
    ColumnDraft,
    Convert,
    CreateTable,
    DropColumn,
    DropIndex,
    IndexDraft,
    RenameColumn,
    RenameIndex,
    SetOptions,
    TableOptions,
    Versioning,
)


class Misfit(Exception):
    """The statement speaks of a column or an index that the definition does not have: it is not the server's."""


class Draft:
    """A table while a statement is applied to it."""

    def __init__(self, text: Text, database: Text, *, mariadb: bool) -> None:
        self.columns: list[ColumnDefinition] = []
        self.indexes: list[Index] = []
        self.text = text
        self.comment = self.row_end = ""
        self._database = database
        self._mariadb = mariadb

    @classmethod
    def of(cls, table: TableDefinition, database: Text, *, mariadb: bool) -> Draft:
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
            raise Misfit("a table without columns")
        return TableDefinition(tuple(self.columns), tuple(self.indexes), self.text, self.comment, self.row_end)

    def find(self, name: str) -> int:
        folded = name.lower()
        for at, column in enumerate(self.columns):
            if column.name.lower() == folded:
                return at
        raise Misfit(f"no column {name}")

    def has(self, name: str) -> bool:
        folded = name.lower()
        return any(column.name.lower() == folded for column in self.columns)

    # Columns

    def add(self, clause: AddColumn) -> None:
        draft = clause.column
        if clause.old:
            return self.replace(clause)
        if self.has(draft.name):
            if clause.unless_exists:
                return None
            raise Misfit(f"a column {draft.name} already")
        self._put(self._resolved(draft), clause.place, len(self.columns))
        self.keys(draft)
        return None

    def replace(self, clause: AddColumn) -> None:
        """MODIFY and CHANGE."""
        if clause.if_exists and not self.has(clause.old):
            return
        at = self.find(clause.old)
        old = self.columns.pop(at)
        self._put(self._resolved(clause.column), clause.place, at)
        if old.name != clause.column.name:
            self._rename_in_indexes(old.name, clause.column.name)
        self.keys(clause.column)

    def _resolved(self, draft: ColumnDraft) -> ColumnDefinition:
        if draft.row_end:
            self.row_end = draft.name
        return resolve.definition(draft, self.text, mariadb=self._mariadb)

    def place(self, draft: ColumnDraft) -> None:
        """A column of CREATE TABLE."""
        self.columns.append(self._resolved(draft))

    def _put(self, column: ColumnDefinition, place: str | None, at: int) -> None:
        if place is None:
            at = 0
        elif place:
            at = self.find(place) + 1
        self.columns.insert(at, column)

    def keys(self, draft: ColumnDraft) -> None:
        if draft.key:
            self.index(IndexDraft(draft.key, (draft.name,), PRIMARY if draft.key == PRIMARY else ""))

    def drop(self, clause: DropColumn) -> None:
        if clause.if_exists and not self.has(clause.name):
            return
        folded = self.columns.pop(self.find(clause.name)).name.lower()
        kept = []
        for index in self.indexes:
            columns = tuple(name for name in index.columns if name.lower() != folded)
            if columns or not index.columns:
                kept.append(msgspec.structs.replace(index, columns=columns))
        self.indexes = kept

    def rename(self, old: str, new: str) -> None:
        at = self.find(old)
        self.columns[at] = msgspec.structs.replace(self.columns[at], name=new)
        self._rename_in_indexes(old, new)

    def _rename_in_indexes(self, old: str, new: str) -> None:
        folded = old.lower()
        for at, index in enumerate(self.indexes):
            columns = tuple(new if name.lower() == folded else name for name in index.columns)
            self.indexes[at] = msgspec.structs.replace(index, columns=columns)

    def alter(self, clause: AlterColumn) -> None:
        at = self.find(clause.name)
        column = self.columns[at]
        declared = column.declared
        if clause.dropped:
            declared = msgspec.structs.replace(declared, has_default=False, default=None, default_is_expression=False)
        elif clause.default is not None:
            text, expression = clause.default
            declared = msgspec.structs.replace(
                declared, has_default=True, default=text, default_is_expression=expression
            )
        visible = column.visible if clause.visible is None else clause.visible
        self.columns[at] = msgspec.structs.replace(column, declared=declared, visible=visible)

    # Indexes

    def index(self, draft: IndexDraft) -> None:
        name = draft.name or self._free_name(draft)
        if any(index.name.lower() == name.lower() for index in self.indexes):
            if draft.unless_exists or (draft.kind == PRIMARY and not draft.name):
                return
            raise Misfit(f"an index {name} already")
        columns = tuple(self.columns[self.find(column)].name for column in draft.columns)
        self.indexes.append(Index(name, columns, draft.kind != "INDEX", draft.whole))

    def _free_name(self, draft: IndexDraft) -> str:
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
            raise Misfit("no primary key")
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
        match clause:
            case AddColumn():
                self.add(clause)
            case DropColumn():
                self.drop(clause)
            case RenameColumn(old, new, if_exists):
                if self.has(old) or not if_exists:
                    self.rename(old, new)
            case AlterColumn():
                self.alter(clause)
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


_ORDER: Final[dict[object, int]] = {
    SetOptions: 0,
    Convert: 0,
    DropIndex: 1,
    DropColumn: 2,
    RenameColumn: 3,
    AddIndex: 6,
}


def created(statement: CreateTable, database: Text, *, mariadb: bool) -> TableDefinition:
    """Raises Misfit for an index over a column that is not there."""
    draft = Draft(charsets.resolve(statement.options.charset, database, mariadb=mariadb), database, mariadb=mariadb)
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
    options; new indexes name new columns. Raises Misfit."""
    draft = Draft.of(table, database, mariadb=mariadb)
    for clause in sorted(statement.clauses, key=lambda clause: _ORDER.get(type(clause), 4)):
        draft.apply(clause)
    return draft.finished()
