"""Turns the output of SHOW CREATE TABLE into table definitions."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from replicator.model.schema_history import ServerDefinitions
from replicator.schema import parser
from replicator.schema.apply import DefinitionMismatch
from replicator.schema.charsets import Text
from replicator.schema.ddl_ast import CreateTable
from replicator.schema.ddl_effects import Effects, Key
from replicator.schema.record_codec import pack
from replicator.schema.schema_state import SchemaState
from replicator.schema.selection import Selection
from replicator.schema.server_schema import ServerSchema
from replicator.schema.tokens import NotUnderstood
from replicator.schema.upcoming_ddl import AffectingStatement


def schema_from_server(reading: ServerDefinitions, *, mariadb: bool) -> ServerSchema:
    """A table whose CREATE TABLE can't be read is there and not known."""
    schema = ServerSchema(mariadb=mariadb, folded=reading.folded)
    for name, (charset, collation) in reading.databases.items():
        schema.define_database(name, Text(charset, collation))
    for table in reading.tables:
        define(schema, (table.database, table.name), table.text)
    schema.effects()
    return schema


def define(schema: ServerSchema, key: Key, text: str | None) -> bool:
    """Takes the text of SHOW CREATE TABLE, or one like it. False: it could not be understood."""
    schema.define(schema.key(key), None)
    try:
        operation = parser.parse(text or "", mariadb=schema.mariadb).operation
        if isinstance(operation, CreateTable):
            schema.apply(msgspec.structs.replace(operation, name=key, unless_exists=False), key[0])
    except (NotUnderstood, DefinitionMismatch):
        return False
    return schema.get(schema.key(key)) is not None


def keys(reading: ServerDefinitions) -> frozenset[Key]:
    """Of its tables, as a schema has them."""
    names = ((table.database, table.name) for table in reading.tables)
    return frozenset((name[0].lower(), name[1].lower()) if reading.folded else name for name in names)


def affects_reading(touch: AffectingStatement, keys: frozenset[Key]) -> bool:
    """Whether a statement during a reading may be in one of its definitions, or be missing in it."""
    return bool(touch.defaults) or any(touch.changes(key) for key in keys)


def new_definitions(reading: ServerDefinitions, state: SchemaState, followed: Selection, *, mariadb: bool) -> bytes:
    """What a reading adds to `state`, packed: tables that are not known there, and everything of databases whose
    statements were not followed."""
    schema = schema_from_server(reading, mariadb=mariadb)
    return pack(
        Effects(tuple(_tables(schema, state, followed)), tuple(_databases(schema, followed))), folded=schema.folded
    )


def _tables(schema: ServerSchema, state: SchemaState, followed: Selection) -> Iterator[tuple[str, str, bytes | None]]:
    for key in schema.names():
        if not (followed.touches(key[0]) and state.has_definition(key)):
            yield (*key, schema.encoded(key))
    for key in state.all_keys():
        if key not in schema and not followed.touches(key[0]):
            yield (*key, None)


def _databases(schema: ServerSchema, followed: Selection) -> Iterator[tuple[str, Text | None]]:
    for name, text in schema.snapshot().databases:
        if name and not followed.touches(name):
            yield name, text
