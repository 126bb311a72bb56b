"""Runs SQL scripts with sections (`-- @section NAME`)."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Any

import pymysql

from dev.servers import Database

_SECTION = re.compile(r"^-- @section (\w+)\n", re.MULTILINE)
_STATEMENT = re.compile(r"""(?:[^;'"`]|'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|`[^`]*`)+;""", re.DOTALL)


def statements(script: Path, *, only: Set[str] | None = None, leave_out: Set[str] = frozenset()) -> Iterator[str]:
    """The statements of a script, of all or the given sections (what stands before the first one is always in)."""
    text = script.read_text()
    parts = _SECTION.split(text)
    for section, body in zip(["", *parts[1::2]], parts[0::2], strict=True):
        if section not in leave_out and (only is None or section in only or not section):
            lines = "\n".join(line for line in body.splitlines() if not line.startswith("-- "))
            yield from (match[0].strip() for match in _STATEMENT.finditer(lines))


def run(server: Database, script: Iterator[str], **options: Any) -> None:
    """In one session, warnings left aside. `options` go to `Database.connect`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pymysql.Warning)
        connection = server.connect(**options)
        with connection.cursor() as cursor:
            for statement in script:
                cursor.execute(statement.rstrip(";"))
        connection.close()
