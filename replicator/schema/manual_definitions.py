"""Table definitions supplied by operators for DDL that could not be parsed."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from replicator.errors import ProcessError
from replicator.model.position import Position
from replicator.model.schema_history import SchemaRecord
from replicator.schema import parser
from replicator.schema.ddl_ast import CreateTable
from replicator.schema.history import History
from replicator.schema.record_codec import pack
from replicator.schema.server_schema import ServerSchema
from replicator.schema.tokens import NotUnderstood

_SHOWN = 300


def manual_definition(
    history: History, text: str, position: Position, stopped: Mapping[str, Position] | None = None
) -> SchemaRecord:
    """A record of the table in `text`, a CREATE TABLE with the database's name, as of `position`, or as of where the
    table (`database.table`) has stopped.

    Raises:
        ProcessError: E5014, it is another statement, names no database, or can't be understood either.
    """
    schema = history.latest() or ServerSchema(mariadb=history.mariadb)
    try:
        operation = parser.parse(text, mariadb=history.mariadb).operation
    except NotUnderstood as error:
        raise _refused(str(error)) from error
    if not isinstance(operation, CreateTable) or not operation.columns:
        raise _refused("another statement")
    if not operation.name[0]:
        raise _refused(f"no database before `{operation.name[1]}`")
    schema.effects()
    schema.define(schema.key(operation.name), None)
    schema.apply(msgspec.structs.replace(operation, unless_exists=False), operation.name[0])
    if schema.get(schema.key(operation.name)) is None:
        raise _refused("an index on a column that does not exist")
    position = (stopped or {}).get(".".join(operation.name), position)
    return SchemaRecord("set", position, text=text[:_SHOWN], data=pack(schema.effects(), folded=schema.folded))


def _refused(found: str) -> ProcessError:
    return ProcessError(
        "E5014",
        "the statement does not define a table",
        found=found,
        wanted="CREATE TABLE database.table (...), as SHOW CREATE TABLE prints it",
        fix="Remove the clauses that are not supported, but keep columns, types and keys.",
    )
