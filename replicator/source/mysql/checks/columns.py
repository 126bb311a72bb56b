"""The current columns of tables as transforms see them: names, kinds of types, keys."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from replicator.config.task import MySQLSource
from replicator.model import types
from replicator.model.table import Column, Table
from replicator.mysql.session import Session
from replicator.source.mysql.checks.tables import carried

_TYPES: Final = {
    "tinyint": types.TINY,
    "smallint": types.SHORT,
    "mediumint": types.INT24,
    "int": types.LONG,
    "bigint": types.LONGLONG,
    "decimal": types.NEWDECIMAL,
    "float": types.FLOAT,
    "double": types.DOUBLE,
    "bit": types.BIT,
    "year": types.YEAR,
    "date": types.DATE,
    "datetime": types.DATETIME2,
    "timestamp": types.TIMESTAMP2,
    "time": types.TIME2,
    "enum": types.ENUM,
    "set": types.SET,
    "json": types.JSON,
    "vector": types.VECTOR,
    "char": types.STRING,
    "binary": types.STRING,
    "varchar": types.VARCHAR,
    "varbinary": types.VARCHAR,
    "tinytext": types.BLOB,
    "text": types.BLOB,
    "mediumtext": types.BLOB,
    "longtext": types.BLOB,
    "tinyblob": types.BLOB,
    "blob": types.BLOB,
    "mediumblob": types.BLOB,
    "longblob": types.BLOB,
    "uuid": types.STRING,
    "inet4": types.STRING,
    "inet6": types.STRING,
}
_UTF8MB4: Final = 45
_MEMBER: Final = re.compile(r"'((?:[^']|'')*)'")
_AT_ONCE: Final = 500

_COLUMNS: Final = (
    "SELECT table_schema, table_name, column_name, data_type, column_type, is_nullable, character_set_name, "
    "numeric_precision, numeric_scale, {fraction} FROM information_schema.columns "
    "WHERE (table_schema, table_name) IN ({places}) ORDER BY table_schema, table_name, ordinal_position"
)
_FRACTIONS: Final = (
    "SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = 'information_schema' "
    "AND table_name = 'COLUMNS' AND column_name = 'DATETIME_PRECISION'"
)
_KEYS: Final = (
    "SELECT table_schema, table_name, column_name FROM information_schema.statistics "
    "WHERE index_name = 'PRIMARY' AND (table_schema, table_name) IN ({}) ORDER BY 1, 2, seq_in_index"
)


def read(config: MySQLSource, password: str, names: Iterable[tuple[str, str]] | None = None) -> list[Table]:
    """What information_schema of one server has of these (database, table), or of all that the task carries; tables
    that went away meanwhile are left out. `config`: one of `hosts.candidates`.

    Raises:
        SourceError: the server can't be asked.
    """
    found: list[Table] = []
    with Session(config, password) as session:
        wanted = carried(session, config) if names is None else list(names)
        for start in range(0, len(wanted), _AT_ONCE):
            found += _read(session, wanted[start : start + _AT_ONCE], mariadb=config.type == "mariadb")
    return found


def _read(session: Session, names: list[tuple[str, str]], *, mariadb: bool) -> list[Table]:
    places = ", ".join(["(%s, %s)"] * len(names))
    # MySQL 5.5 has no fractions of a second, and no column that tells them.
    fraction = "datetime_precision" if session.value(_FRACTIONS) else "0"
    values = tuple(part for name in names for part in name)
    rows: dict[tuple[str, str], list[tuple[Any, ...]]] = {}
    for database, table, *rest in session.rows(_COLUMNS.format(places=places, fraction=fraction), values):
        rows.setdefault((str(database), str(table)), []).append(tuple(rest))
    keys: dict[tuple[str, str], list[str]] = {}
    for database, table, column in session.rows(_KEYS.format(places), values):
        keys.setdefault((str(database), str(table)), []).append(str(column))
    return [_table(name, columns, keys.get(name, []), mariadb) for name, columns in rows.items()]


def _table(name: tuple[str, str], rows: list[tuple[Any, ...]], key: list[str], mariadb: bool) -> Table:
    columns = tuple(_column(index, *row) for index, row in enumerate(rows))
    places = {column.name: column.index for column in columns}
    return Table(*name, columns, tuple(places[column] for column in key), mariadb)


def _column(
    index: int, name: str, kind: str, spelled: str, nullable: str, charset: Any, digits: Any, scale: Any, fraction: Any
) -> Column:
    type_ = _TYPES.get(kind.lower(), types.GEOMETRY)
    meta = int(digits or 0) << 8 | int(scale or 0) if type_ == types.NEWDECIMAL else int(fraction or 0)
    listed = type_ in (types.ENUM, types.SET)
    members = tuple(member.replace("''", "'") for member in _MEMBER.findall(spelled)) if listed else ()
    return Column(
        index,
        name,
        type_,
        {types.ENUM: 1, types.SET: 8, types.FLOAT: 4, types.DOUBLE: 8}.get(type_, meta),
        nullable == "YES",
        "unsigned" in spelled,
        _UTF8MB4 if charset else types.BINARY_COLLATION,
        members,
    )
