"""Statements that give values to rows which are already there, and other values on each server."""

from __future__ import annotations

import re
from typing import Final

from replicator.model.metadata_event import Statement
from replicator.schema import parser
from replicator.schema.ddl_ast import AddColumn, AlterTable
from replicator.schema.rewrite.names import NoRewrite
from replicator.schema.tokens import NotUnderstood

_BY_HAND: Final = "Add the column at the target with the values of the source; then `replicator task skip NAME`."
_CHANGING: Final = re.compile(r"\b(UUID|UUID_SHORT|UUID_V[47]|RAND|RANDOM_BYTES|SYS_GUID|SYSDATE)\b", re.IGNORECASE)


def refuse_undetermined(statement: Statement, *, mariadb: bool) -> None:
    """Raises NoRewrite for a new column whose values the target would choose differently.

    AUTO_INCREMENT numbers rows in the order of the primary key; without one, in an order that is the server's own.
    """
    try:
        operation = parser.parse(statement.text, mariadb=mariadb).operation
    except NotUnderstood:
        return
    if not isinstance(operation, AlterTable):
        return
    before = next((change.before for change in statement.changes if change.verb == "ALTER"), None)
    ordered = before is not None and bool(before.primary_key)
    for clause in operation.clauses:
        if not isinstance(clause, AddColumn) or clause.old:
            continue
        declared = clause.column.declared
        if declared.auto_increment and not ordered:
            raise NoRewrite("rows without a key would be numbered in another order", _BY_HAND)
        if declared.default_is_expression and _CHANGING.search(declared.default or ""):
            raise NoRewrite(f"the default of {clause.column.name} has another value on each server", _BY_HAND)
