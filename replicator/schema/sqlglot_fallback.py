"""Parses with sqlglot the statements that our own parser does not read.

sqlglot is imported here only, and only when it is needed: that takes a third of a second, more than a take-over may.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from replicator.schema.ddl_ast import Parsed
from replicator.schema.parser import parse
from replicator.schema.token_cursor import Name
from replicator.schema.tokens import NotUnderstood

if TYPE_CHECKING:
    from sqlglot import exp


def parse_with_sqlglot(text: str, *, mariadb: bool) -> Parsed:
    """sqlglot reads the statement whole and writes it down in plain MySQL, which our grammar reads.

    Raises NotUnderstood when sqlglot can't parse it either, or only as a command of unknown content.
    """
    tree = _tree(text)
    if tree is None:
        raise NotUnderstood("sqlglot can't parse it either")
    return parse(tree.sql(dialect="mysql", comments=False), mariadb=mariadb)


def _tree(text: str) -> exp.Expr | None:
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    logging.getLogger("sqlglot").setLevel(logging.ERROR)  # it warns of what it falls back from
    try:
        tree = sqlglot.parse_one(text, dialect="mysql")
    except (SqlglotError, RecursionError, ValueError):
        return None
    return None if isinstance(tree, exp.Command) else tree


def table_names(text: str) -> list[Name] | None:
    """The tables that a statement names; None when sqlglot can't tell."""
    tree = _tree(text)
    if tree is None:
        return None
    from sqlglot import exp

    return [(table.db, table.name) for table in tree.find_all(exp.Table)]
