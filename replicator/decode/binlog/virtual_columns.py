"""Generated columns that row images do not have, by the release of the server.

MariaDB before 10.5: NULL is logged for VIRTUAL columns unless an index needed their value. Nothing in the events tells
such a NULL from a real one, so plans may not read these columns. (10.2.11 logs NULL, 10.5.23 the value; the releases
between them have not been looked at.)

MariaDB from 11.8.9 on: updates and deletes come without all generated columns, inserts with them.
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from replicator.errors import DecodeError
from replicator.model.condition import Of
from replicator.model.plan import TablePlan, Value
from replicator.model.table import Table

_LOGGED: Final = (10, 5)
OMITTED: Final = (11, 8, 9)
_RELEASE: Final = re.compile(rb"(\d+)\.(\d+)\.(\d+)-MariaDB")


def logged(version: bytes) -> bool:
    """Whether the server that wrote the file logs them. `version`: as its FORMAT_DESCRIPTION tells it."""
    found = _RELEASE.match(version)
    return found is None or tuple(map(int, found.groups())) >= _LOGGED


def omitted(version: bytes) -> bool:
    """Whether updates and deletes of this server come without generated columns."""
    found = _RELEASE.match(version)
    return found is not None and tuple(map(int, found.groups())) >= OMITTED


def marked(table: Table) -> Table:
    """The table of such a server."""
    generated = any(column.declared is not None and column.declared.generated for column in table.columns)
    return msgspec.structs.replace(table, omits_generated=True) if generated else table


def check(plan: TablePlan, table: Table) -> None:
    """Raises DecodeError E2304 when the plan reads a VIRTUAL column."""
    virtual = {
        column.index: column.name
        for column in table.columns
        if column.declared is not None and column.declared.generated == "VIRTUAL"
    }
    read = sorted(virtual.keys() & _columns(plan)) if virtual else []
    if read:
        names = ", ".join(virtual[index] for index in read)
        raise DecodeError(
            "E2304",
            f"rows of {table.qualified} lack the values of its VIRTUAL columns: {names}",
            found="MariaDB before 10.5, which logs NULL in their place",
            wanted="records without VIRTUAL columns, or a release that logs their values",
            fix=f"Exclude them: a rule in `transforms.columns` with tables: [{table.qualified}], exclude: [{names}].",
            table=table.qualified,
        )


def _columns(plan: TablePlan) -> set[int]:
    """Indexes of the columns whose values the plan prints, compares or tests."""
    found = set(plan.keys)
    parts: list[Any] = [plan]
    while parts:
        part = parts.pop()
        if isinstance(part, Value | Of):
            found.add(part.column)
        elif isinstance(part, tuple):
            parts.extend(part)
        elif isinstance(part, msgspec.Struct):
            parts.extend(msgspec.structs.astuple(part))
    return found
