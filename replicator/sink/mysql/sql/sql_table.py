"""How the rows of one table are written by SQL statements: its columns, literals and key; and why they can't be."""

from __future__ import annotations

from typing import Final

import msgspec

from replicator.errors import SinkError
from replicator.model import types
from replicator.model.column_sizes import fixed_size, prefix_size
from replicator.model.target_table import TargetTable
from replicator.mysql import table_facts
from replicator.mysql.identifiers import quote_account, quote_identifier
from replicator.mysql.server import Server
from replicator.mysql.session import Session
from replicator.mysql.table_facts import TableFacts
from replicator.mysql.table_shape import ColumnShape
from replicator.sink.mysql.apply_mode import privilege
from replicator.sink.mysql.conflicts import key_literals
from replicator.sink.mysql.image_values import Layout
from replicator.sink.mysql.sql import literals, load_data
from replicator.sink.mysql.sql.grants import TriggerGrants
from replicator.sink.mysql.sql.key_texts import Keys, keys_of
from replicator.sink.mysql.sql.literals import literal_of
from replicator.sink.mysql.sql.load_data import LoadedTable
from replicator.sink.mysql.sql.row_texts import RowTexts, Write
from replicator.sink.mysql.target_definition import Definition

_ALIAS: Final = (8, 0, 19)
"""From this release of MySQL on, the new row of ON DUPLICATE KEY UPDATE has a name."""


class SqlTable(msgspec.Struct, frozen=True, eq=False):
    """Of one table version.

    Attributes:
        name: `database`.`table`, quoted.
        layout: of the images.
        columns: of the images, as the target has them.
        names: of the columns, quoted.
        literals: of the columns.
        written: indexes of the columns that are written: those that are not generated.
        hint: that makes the server find them by this key. Statistics of a table that was empty a moment ago, or few
            rows, make it read and lock all of them.
        merges: rows that are there may be updated by INSERT ... ON DUPLICATE KEY UPDATE.
        alias: its new row has a name.
        keys: by which rows are found.
        texts: rows of an INSERT.
        loaded: how LOAD DATA inserts rows.
        kept: names of columns that the images lack and an UPDATE would change.
    """

    name: bytes
    layout: Layout
    columns: tuple[ColumnShape, ...]
    names: tuple[bytes, ...]
    literals: tuple[Write, ...]
    written: tuple[int, ...]
    hint: bytes
    merges: bool
    alias: bool
    keys: Keys
    texts: RowTexts
    loaded: LoadedTable
    kept: tuple[bytes, ...] = ()


class Refusal(msgspec.Struct, frozen=True):
    """Why rows of a table can't be written by SQL, and the remedy."""

    found: str
    wanted: str
    fix: str


def refusal(
    server: Server, grants: TriggerGrants, images: TargetTable, found: TableFacts, known: Definition
) -> Refusal | None:
    """Raises the errors of the session's side."""
    name, images_allowed = _name(found), _images_allowed(server)
    if known.versioned:
        wanted = "a table without system versioning: SQL can't write the time of a row"
        return Refusal("system versioning", wanted, f"{images_allowed}; or exclude the table with `source.tables`.")
    if any(column.type in types.COMPRESSED for column in images.columns):
        wanted = "columns that are not COMPRESSED"
        return Refusal("COMPRESSED columns at the source", wanted, f"{images_allowed}.")
    triggers = _of_triggers(server, grants, found)
    if triggers is not None:
        return triggers
    if not _key(images, found, known)[0]:
        wanted = "a primary key, or a unique key that is NOT NULL, of whole columns that are replicated, none of FLOAT "
        fix = f"ALTER TABLE {name} ADD PRIMARY KEY (...); or {images_allowed}."
        return Refusal("no key that finds rows", f"{wanted}or DOUBLE", fix)
    return None


def refuse_triggers(session: Session, server: Server, database: str, name: str) -> None:
    """Raises SinkError E3427."""
    found = table_facts.read(session, [(database, name)]).get((database, name))
    refused = None if found is None else _of_triggers(server, TriggerGrants(session), found)
    if refused is not None:
        raise _error(session, f"{database}.{name}", refused, "")


def _of_triggers(server: Server, grants: TriggerGrants, found: TableFacts) -> Refusal | None:
    if not grants.sees(found.database, found.name):
        wanted = "TRIGGER: without it the account can't see whether the table has triggers, which SQL would execute"
        fix = f"GRANT TRIGGER ON {_name(found)} TO {quote_account(server.account)}; or {_images_allowed(server)}."
        return Refusal("the account lacks TRIGGER", wanted, fix)
    if found.triggers:
        wanted = "no triggers: SQL executes them, and the rows that they write at the source arrive as well"
        fix = f"DROP TRIGGER {quote_identifier(found.database)}.{quote_identifier(found.triggers[0])}; or "
        return Refusal(f"triggers: {', '.join(found.triggers)}", wanted, f"{fix}{_images_allowed(server)}.")
    return None


def _name(found: TableFacts) -> str:
    return f"{quote_identifier(found.database)}.{quote_identifier(found.name)}"


def _images_allowed(server: Server) -> str:
    account = quote_account(server.account)
    return f"GRANT {privilege(server)} ON *.* TO {account}; so that rows are applied by BINLOG"


def _error(session: Session, table: str, refused: Refusal, source: str) -> SinkError:
    return SinkError(
        "E3427",
        f"rows of {table} can't be written by SQL at {session.where}",
        found=refused.found,
        wanted=refused.wanted,
        fix=refused.fix,
        table=source or table,
    )


def read(
    session: Session, server: Server, grants: TriggerGrants, images: TargetTable, known: Definition, *, joined: bool
) -> SqlTable:
    """
    Args:
        images: the table as its images are executed.
        joined: the order of changes of different rows does not matter.

    Raises:
        SinkError: E3427, rows of the table can't be written by SQL.
        SinkUnavailable.
    """
    place = images.database, images.name
    found = table_facts.read(session, [place]).get(place)
    if found is None:
        lost = Refusal("no definition", "a table that the account may read", "")
        raise _error(session, images.qualified, lost, images.source)
    refused = refusal(server, grants, images, found, known)
    if refused is not None:
        raise _error(session, images.qualified, refused, images.source)
    columns = _columns(images, known)
    key, index = _key(images, found, known)
    names = tuple(quote_identifier(column.name).encode() for column in columns)
    given = {column.name.lower() for column in columns}
    written = tuple(index for index, column in enumerate(columns) if column.name.lower() not in known.generated)
    quoted = ".".join(map(quote_identifier, place)).encode()
    layout = Layout(tuple(_size(images, index) for index in range(len(columns))), ())
    return SqlTable(
        quoted,
        layout,
        columns,
        names,
        tuple(map(literal_of, columns)),
        written,
        f" FORCE INDEX ({quote_identifier(index)})".encode(),
        joined and bool(found.primary_key),
        not server.mariadb and server.version >= _ALIAS,
        keys_of(layout, columns, names, key),
        literals.rows_of(layout, columns, written),
        load_data.loaded(quoted, layout, columns, names, written),
        tuple(quote_identifier(name).encode() for name in known.stamped if name.lower() not in given),
    )


def _columns(images: TargetTable, known: Definition) -> tuple[ColumnShape, ...]:
    at = {column.name.lower(): column for column in known.shape.columns}
    return tuple(at[column.name.lower()] for column in images.columns)


def _key(images: TargetTable, found: TableFacts, known: Definition) -> tuple[tuple[int, ...], str]:
    """Columns and name of the primary key, or else of the first unique key that will do; (): there is none."""
    at = {column.name.lower(): index for index, column in enumerate(images.columns)}
    shapes = {column.name.lower(): column for column in known.shape.columns}
    keys = {"PRIMARY": found.primary_key} if found.primary_key else found.uniques
    for index, names in keys.items():
        whole = all(name in at and name in shapes for name in names)
        if whole and all(key_literals.usable(shapes[name]) and not shapes[name].nullable for name in names):
            return tuple(at[name] for name in names), index
    return (), ""


def _size(images: TargetTable, index: int) -> int:
    size = fixed_size(images.columns[index])
    return -prefix_size(images.columns[index]) if size is None else size
