"""Whether rows are inserted by LOAD DATA LOCAL, where they are applied by SQL."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Final, NamedTuple

from replicator.config.mysql_sink import MySQLSink
from replicator.mysql.remedies import set_global
from replicator.mysql.server import Server

log: Final = logging.getLogger(__name__)

_ALLOWED: Final = "local_infile"
_SPLITTING: Final = "wsrep_load_data_splitting"
"""ON: the server commits each 10,000 rows."""
_FORMAT: Final = "binlog_format"
"""Others: replicas of the target execute LOAD DATA, without what makes it exact here."""
_MOST_LOST: Final = 3
_MISSING: Final = {_ALLOWED: "OFF"}
"""Of servers without the variable. Others have what is wanted."""


class Obstacle(NamedTuple):
    """Why it is not used, what would have to be so, and the statement for that; "": the operator does not want it."""

    found: str
    wanted: str = ""
    fix: str = ""


def obstacle(config: MySQLSink, server: Server) -> Obstacle | None:
    """None: it is used."""
    if not config.load_data:
        return Obstacle("sink.load_data = false")
    wanted = {_ALLOWED: "ON", _SPLITTING: "OFF", _FORMAT: "ROW"}
    for name, value in wanted.items():
        found = server.get(name) or _MISSING.get(name, value)
        if found != value and not (name == _FORMAT and server.get("log_bin") != "ON"):
            return Obstacle(f"{name} = {found}", f"{name} = {value}", set_global(server, name, value))
    return None


def said(found: Obstacle | None) -> str:
    if found is None:
        return "many rows of a table are inserted by LOAD DATA LOCAL"
    return f"rows are inserted by INSERT and not by LOAD DATA LOCAL: {found.found}"


class Loads:
    """The tables that it is used for: of one sink, whose sessions come one after the other."""

    def __init__(self) -> None:
        self._allowed = False
        self._refused: set[str] = set()
        self._lost = 0

    def begin(self, *, allowed: bool) -> None:
        """A session. `allowed`: by its server and the configuration."""
        self._allowed = allowed and self._lost < _MOST_LOST
        self._refused.clear()

    def takes(self, table: str) -> bool:
        """`table`: `database.name` at the target."""
        return self._allowed and table not in self._refused

    def refuse(self, tables: Iterable[str], where: str, found: str) -> None:
        """After INSERT has taken rows that it has not taken: the session does not try it again."""
        self._refused.update(tables)
        names = ", ".join(sorted(tables))
        log.warning(
            "rows of %s are written by INSERT: %s has not taken all of them by LOAD DATA, or with warnings (%s)",
            names, where, found,
        )  # fmt: skip

    def taken(self) -> None:
        self._lost = 0

    def lost(self, where: str) -> None:
        """The connection, while it was executed. Proxies between the task and its target may do that each time."""
        self._lost += 1
        if self._lost == _MOST_LOST:
            log.warning(
                "rows are written by INSERT until the task restarts: the connection to %s was lost %d times in a row "
                "during LOAD DATA; `sink.load_data: false` switches it off",
                where, _MOST_LOST,
            )  # fmt: skip
