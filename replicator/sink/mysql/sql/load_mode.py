"""Whether rows are inserted by LOAD DATA LOCAL, where they are applied by SQL."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Final, NamedTuple

from replicator.config.mysql_sink import MySQLSink
from replicator.mysql.packets import FILE_PACKET
from replicator.mysql.remedies import set_global
from replicator.mysql.server import Server

log: Final = logging.getLogger(__name__)

LEAST_PACKET: Final = 2 * FILE_PACKET
_LOCAL_INFILE: Final = "local_infile"
_WSREP_SPLITTING: Final = "wsrep_load_data_splitting"
"""ON: the server commits each 10,000 rows."""
_BINLOG_FORMAT: Final = "binlog_format"
"""Others: replicas of the target execute LOAD DATA, without what makes it exact here."""
_PACKET: Final = "max_allowed_packet"
_MOST_LOST: Final = 3
_MISSING: Final = {_LOCAL_INFILE: "OFF"}
"""Of servers without the variable. Others have what is wanted."""


class Obstacle(NamedTuple):
    """Why LOAD DATA is not used, what would have to be so, and the statement for that; "": the operator does not want
    it."""

    found: str
    wanted: str = ""
    fix: str = ""


def obstacle(config: MySQLSink, server: Server) -> Obstacle | None:
    """None: LOAD DATA is used."""
    if not config.load_data:
        return Obstacle("sink.load_data = false")
    wanted = {_LOCAL_INFILE: "ON", _WSREP_SPLITTING: "OFF", _BINLOG_FORMAT: "ROW"}
    for name, value in wanted.items():
        found = server.get(name) or _MISSING.get(name, value)
        if found != value and not (name == _BINLOG_FORMAT and server.get("log_bin") != "ON"):
            return Obstacle(f"{name} = {found}", f"{name} = {value}", set_global(server, name, value))
    largest = int(server.get(_PACKET) or LEAST_PACKET)
    if largest < LEAST_PACKET:
        fix = set_global(server, _PACKET, str(LEAST_PACKET))
        return Obstacle(f"{_PACKET} = {largest}", f"{_PACKET} >= {LEAST_PACKET}", fix)
    return None


def description(found: Obstacle | None) -> str:
    if found is None:
        return "many rows of a table are inserted by LOAD DATA LOCAL"
    return f"rows are inserted by INSERT and not by LOAD DATA LOCAL: {found.found}"


class Loads:
    """The tables that LOAD DATA is used for: of one sink, whose sessions come one after the other."""

    def __init__(self) -> None:
        self._allowed = False
        self._refused: set[str] = set()
        self._lost = 0

    def begin(self, *, allowed: bool) -> None:
        """A session. `allowed`: it applies rows by SQL, and there is no obstacle."""
        self._allowed = allowed and self._lost < _MOST_LOST
        self._refused.clear()

    def uses(self, table: str) -> bool:
        """`table`: `database.name` at the target."""
        return self._allowed and table not in self._refused

    def refuse(self, tables: Iterable[str], where: str, found: str) -> None:
        """After INSERT has taken rows that LOAD DATA has not taken: the session does not try it again."""
        self._refused.update(tables)
        names = ", ".join(sorted(tables))
        log.warning(
            "rows of %s are written by INSERT: %s has not taken all of them by LOAD DATA, or with warnings (%s)",
            names, where, found,
        )  # fmt: skip

    def taken(self) -> None:
        """All rows of a packet."""
        self._lost = 0

    def lost(self, where: str) -> None:
        """The connection, during LOAD DATA. Proxies between the task and its target may do that each time."""
        self._lost += 1
        if self._lost == _MOST_LOST:
            log.warning(
                "rows are written by INSERT until the task restarts: the connection to %s was lost %d times in a row "
                "during LOAD DATA; `sink.load_data: false` switches it off",
                where, _MOST_LOST,
            )  # fmt: skip
