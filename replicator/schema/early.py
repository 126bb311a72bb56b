"""Definitions that are newer than the stream: read, or compacted, at a position that the stream has yet to reach.

A table whose CREATE has come by is known by it. Any other has the definition that it will have at that position, and
what comes until then is in it already.
"""

from __future__ import annotations

from replicator.schema.changes import Change, Key
from replicator.schema.drafts import (
    AddColumn,
    AlterTable,
    Clause,
    Convert,
    CreateTable,
    DropColumn,
    DropTables,
    Operation,
    RenameColumn,
    RenameTables,
    RenameTo,
)
from replicator.schema.schema import Schema

_OF_COLUMNS = (AddColumn, DropColumn, RenameColumn, Convert)


class Early:
    """`followed`: tables whose definition is that of the statements so far."""

    def __init__(self, schema: Schema, followed: set[Key]) -> None:
        self._schema = schema
        self._followed = followed

    def apply(self, operation: Operation, database: str) -> list[Change]:
        schema = self._schema
        match operation:
            case CreateTable():
                key = schema.key(operation.name, database)
                if operation.unless_exists and key in schema and key not in self._followed:
                    return [schema.change("CREATE", key)]
                self._followed.add(key)
            case AlterTable():
                key = schema.key(operation.name, database)
                if key not in self._followed:
                    return self._altered(operation, key)
                self._followed.update(self._target(clause, key) for clause in operation.clauses)
            case RenameTables(pairs):
                return [self._renamed(schema.key(old, database), schema.key(new, database)) for old, new in pairs]
            case DropTables(names):
                self._followed.update(schema.key(name, database) for name in names)
            case _:
                pass
        return schema.apply(operation, database)

    def changes_columns(self, operation: Operation, database: str) -> Key | None:
        """The table, if it is one whose rows were read with a definition that has this change in it already."""
        if not isinstance(operation, AlterTable):
            return None
        key = self._schema.key(operation.name, database)
        if key in self._followed or not any(isinstance(clause, _OF_COLUMNS) for clause in operation.clauses):
            return None
        return key

    def _target(self, clause: Clause, key: Key) -> Key:
        if not isinstance(clause, RenameTo):
            return key
        return self._schema.key((clause.name[0] or key[0], clause.name[1]))

    def _altered(self, operation: AlterTable, key: Key) -> list[Change]:
        for clause in operation.clauses:
            if isinstance(clause, RenameTo):
                return [
                    Change("ALTER", key, self._target(clause, key), self._schema.encoded(self._target(clause, key)))
                ]
        return [self._schema.change("ALTER", key)]

    def _renamed(self, old: Key, new: Key) -> Change:
        if old not in self._followed:
            return Change("RENAME", old, new, self._schema.encoded(new))
        self._followed.discard(old)
        self._followed.add(new)
        (change,) = self._schema.apply(RenameTables(((old, new),)), "")
        return change
