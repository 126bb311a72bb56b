"""Statements that correct system variables, for people."""

from __future__ import annotations

from replicator.mysql.server import Server


def set_global(server: Server, name: str, value: str) -> str:
    """The statement that changes a global variable durably: SET PERSIST came with MySQL 8.0, MariaDB has none."""
    if server.mariadb or server.version < (8, 0):
        return f"SET GLOBAL {name} = {value}; and set it in the server's configuration file."
    return f"SET PERSIST {name} = {value};"
