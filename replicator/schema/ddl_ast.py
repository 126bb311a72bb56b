"""Syntax trees of DDL statements, as written: names not resolved, character sets not inherited."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from replicator.model.table import Declared
from replicator.schema.token_cursor import Name


class Charset(msgspec.Struct, frozen=True):
    """As written; None where the statement is silent. `binary`: the attribute BINARY, the character set's `_bin`."""

    charset: str | None = None
    collation: str | None = None
    binary: bool = False

    def __bool__(self) -> bool:
        return bool(self.charset or self.collation or self.binary)


class ColumnSpec(msgspec.Struct, frozen=True):
    """A column definition. `declared.charset` and `.collation` are not set yet; `nullable` None: not said;
    `key`: PRIMARY or UNIQUE is in the definition itself; `row_end`: GENERATED ALWAYS AS ROW END."""

    name: str
    declared: Declared
    text: Charset = Charset()
    nullable: bool | None = None
    visible: bool = True
    key: Literal["", "PRIMARY", "UNIQUE"] = ""
    row_end: bool = False


class IndexSpec(msgspec.Struct, frozen=True):
    """`name` "" where the server chooses one; `whole`: neither prefixes of columns nor expressions in it."""

    kind: Literal["PRIMARY", "UNIQUE", "INDEX"]
    columns: tuple[str, ...]
    name: str = ""
    whole: bool = True
    unless_exists: bool = False


class TableOptions(msgspec.Struct, frozen=True):
    """charset: DEFAULT CHARACTER SET and COLLATE; comment None: not said; versioned: WITH SYSTEM VERSIONING."""

    charset: Charset = Charset()
    comment: str | None = None
    versioned: bool = False


class AddColumn(msgspec.Struct, frozen=True):
    """ADD, MODIFY and CHANGE. `old`: the column that it takes the place of; place: "" where it is or at the end, None
    for FIRST, else the column that it follows."""

    column: ColumnSpec
    old: str = ""
    place: str | None = ""
    unless_exists: bool = False
    if_exists: bool = False


class DropColumn(msgspec.Struct, frozen=True):
    name: str
    if_exists: bool = False


class RenameColumn(msgspec.Struct, frozen=True):
    old: str
    new: str
    if_exists: bool = False


class Default(msgspec.Struct, frozen=True):
    """A DEFAULT clause, as in `Declared`: `text` None for NULL; `expression`, `literal`: what the text is."""

    text: str | None
    expression: bool = False
    literal: bool = False


class AlterColumn(msgspec.Struct, frozen=True):
    """SET DEFAULT, DROP DEFAULT, SET VISIBLE; None: left as it is. `dropped`: DROP DEFAULT."""

    name: str
    default: Default | None = None
    dropped: bool = False
    visible: bool | None = None


class AddIndex(msgspec.Struct, frozen=True):
    index: IndexSpec


class DropIndex(msgspec.Struct, frozen=True):
    """`name` PRIMARY: the primary key; `constraint`: DROP CONSTRAINT, which may be no index at all."""

    name: str
    if_exists: bool = False
    constraint: bool = False


class RenameIndex(msgspec.Struct, frozen=True):
    old: str
    new: str


class Convert(msgspec.Struct, frozen=True):
    """CONVERT TO CHARACTER SET; charset None with no collation: DEFAULT, that of the database."""

    charset: Charset


class SetOptions(msgspec.Struct, frozen=True):
    options: TableOptions


class Versioning(msgspec.Struct, frozen=True):
    """ADD or DROP SYSTEM VERSIONING."""

    added: bool


class RenameTo(msgspec.Struct, frozen=True):
    name: Name


Clause: TypeAlias = (
    AddColumn
    | DropColumn
    | RenameColumn
    | AlterColumn
    | AddIndex
    | DropIndex
    | RenameIndex
    | Convert
    | SetOptions
    | Versioning
    | RenameTo
)


class CreateTable(msgspec.Struct, frozen=True):
    """like: the table that it is a copy of; selected: columns follow from a SELECT that we do not evaluate."""

    name: Name
    columns: tuple[ColumnSpec, ...] = ()
    indexes: tuple[IndexSpec, ...] = ()
    options: TableOptions = TableOptions()
    unless_exists: bool = False
    like: Name | None = None
    selected: bool = False


class AlterTable(msgspec.Struct, frozen=True):
    name: Name
    clauses: tuple[Clause, ...] = ()


class DropTables(msgspec.Struct, frozen=True):
    names: tuple[Name, ...]


class RenameTables(msgspec.Struct, frozen=True):
    pairs: tuple[tuple[Name, Name], ...]


class Truncate(msgspec.Struct, frozen=True):
    name: Name


class Database(msgspec.Struct, frozen=True):
    """CREATE or ALTER DATABASE; name "": the session's default database."""

    name: str
    charset: Charset
    created: bool
    unless_exists: bool = False


class DropDatabase(msgspec.Struct, frozen=True):
    name: str


Operation: TypeAlias = CreateTable | AlterTable | DropTables | RenameTables | Truncate | Database | DropDatabase


class Parsed(msgspec.Struct, frozen=True):
    """`kind`: first words, upper case ("CREATE TABLE", "GRANT"); operation None: it changes no definition that we keep
    (views, accounts, routines, temporary tables, ...)."""

    kind: str
    operation: Operation | None = None
