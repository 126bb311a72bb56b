"""Settings of a session that reads rows as they are stored, for hours: snapshots and `verify`."""

from __future__ import annotations

from typing import Final

from replicator.mysql.server import Server
from replicator.mysql.session import Session

_PATIENCE_S: Final = 86_400
"""How long the server waits for us: a reader that pauses leaves rows in the socket."""
_COMMON: Final = (
    "time_zone = '+00:00'",
    "sql_mode = ''",
    "sql_quote_show_create = 1",
    "sql_big_selects = 1",
    "sql_select_limit = DEFAULT",
    f"net_write_timeout = {_PATIENCE_S}",
    f"wait_timeout = {_PATIENCE_S}",
)


def prepare(session: Session, server: Server) -> None:
    """UTC, no modes, no limits. Raises SourceUnavailable, SourceError: as `Session.rows`."""
    settings = [*_COMMON]
    if server.mariadb:
        settings.append("max_statement_time = 0")
        if server.version >= (10, 3):
            settings += ["idle_transaction_timeout = 0", "idle_readonly_transaction_timeout = 0"]
    elif server.version >= (5, 7, 8):
        settings.append("max_execution_time = 0")
    if not server.mariadb and server.version >= (8, 0, 30):
        settings.append("show_gipk_in_create_table_and_information_schema = ON")
    session.rows("SET SESSION " + ", ".join(settings))


def as_stored(session: Session) -> None:
    """Answers are in the character sets of the columns: nothing is converted."""
    session.rows("SET SESSION character_set_results = NULL")
