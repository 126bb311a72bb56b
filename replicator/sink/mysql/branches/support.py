"""Servers whose XA transactions are good enough for branches."""

from __future__ import annotations

from typing import Final

from replicator.errors import SinkError
from replicator.mysql.identifiers import quote_account
from replicator.mysql.server import Server

OLDEST: Final = {"mysql": (8, 0, 30), "mariadb": (10, 5)}
"""Since then prepared transactions survive a crash together with their binlog, and (MariaDB) the end of their
connection."""


REMEDY: Final = "Set `sink.order: transaction`, or upgrade the server."
RECOVER: Final = "XA_RECOVER_ADMIN"
"""The privilege of MySQL to see what others have prepared."""


def lacking(server: Server) -> tuple[str, str] | None:
    """(what was found, what is wanted); None: it will do."""
    oldest = OLDEST[server.flavour]
    if server.version < oldest:
        return server.get("version"), f"{server.flavour} {'.'.join(map(str, oldest))} or later"
    if server.get("wsrep_on").upper() in ("ON", "1"):
        return "wsrep_on = ON", "a server outside a Galera cluster, which has no XA transactions"
    return None


def recover_grant(server: Server) -> str:
    return f"GRANT {RECOVER} ON *.* TO {quote_account(server.account)};"


def refuse_unsupported(server: Server, where: str) -> None:
    """Raises SinkError E3415."""
    found = lacking(server)
    if found is not None:
        raise SinkError(
            "E3415",
            f"{where} does not support sink.order: key",
            found=found[0],
            wanted=found[1],
            fix=REMEDY,
        )
