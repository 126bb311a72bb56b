"""Whether rows are inserted by LOAD DATA LOCAL, where they are applied by SQL."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Final, NamedTuple

from replicator.config.mysql_sink import MySQLSink
from replicator.mysql.remedies import set_global
from replicator.mysql.server import Server

log: Final = logging.getLogger(__name__)

_ON: Final = frozenset({"ON", "1"})
_SPLITTING: Final = "wsrep_load_data_splitting"


class Obstacle(NamedTuple):
    """Why it is not used. `fix`: a statement that changes it; "": none is wanted."""

    found: str
    fix: str = ""


def obstacle(config: MySQLSink, server: Server) -> Obstacle | None:
    """None: it is used."""
    if not config.load_data:
        return Obstacle("sink.load_data = false")
    if server.get("local_infile") not in _ON:
        return Obstacle("local_infile = OFF", set_global(server, "local_infile", "ON"))
    if server.get(_SPLITTING) in _ON:  # the server would commit each 10,000 rows
        return Obstacle(f"{_SPLITTING} = ON", set_global(server, _SPLITTING, "OFF"))
    logged, form = server.get("log_bin") in _ON, server.get("binlog_format")
    if logged and form != "ROW":  # its replicas would execute LOAD DATA
        return Obstacle(f"binlog_format = {form}", set_global(server, "binlog_format", "ROW"))
    return None


def said(found: Obstacle | None) -> str:
    if found is None:
        return "many rows of a table are inserted by LOAD DATA LOCAL"
    return f"rows are inserted by INSERT and not by LOAD DATA LOCAL: {found.found}"


class Loads:
    """Of one session: the tables that it is used for.

    Args:
        allowed: it may be used at all.
    """

    def __init__(self, *, allowed: bool) -> None:
        self._allowed = allowed
        self._refused: set[str] = set()

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
