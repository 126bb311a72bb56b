"""Which tasks may share a dump connection: those to which the server sends the same bytes, over the same login."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from typing import Final

import msgspec

from replicator.config.task import MySQLSource
from replicator.model.replica_id import derived
from replicator.mysql.server import Server

_OF_THE_TASK: Final = frozenset(
    {
        "tables",
        "on_table_error",
        "start",
        "snapshot",
        "until",
        "server_id",
        "row_image",
        "online_schema_change",
        "skip_replicated",
        "hosts",
        "password",
        "share",
    }
)
"""Settings that change nothing of the dump itself. `hosts`: host and port are those of the server in use."""
_SALT: Final = secrets.token_bytes(32)
"""The template process of a Core has it, and with it all that is forked: keys can be compared among them, and say
nothing about a password to anybody else."""


class Terms(msgspec.Struct, frozen=True):
    """Of an open stream.

    Attributes:
        key: equal where the dump is.
        where: host:port of the server.
        replica: whose dump it is, for its replica id: like the key, without the password.
        file, offset: end of the server's log when the stream was opened. Everything that the task had executed by then
            lies before it: from here on, no transaction may be left out of its stream.
    """

    key: str
    where: str
    replica: str
    file: str
    offset: int


def terms(
    config: MySQLSource, password: str, server: Server, end: tuple[str, int], *, statements: bool = False
) -> Terms:
    """`config`: with host and port of the server that is read; `statements`: those behind rows are asked for."""
    settings = config.model_dump(mode="json", exclude=set(_OF_THE_TASK))
    asked = [settings, server.identity, server.get("binlog_checksum"), statements and server.mariadb]
    plain = json.dumps(asked, sort_keys=True)
    key = hmac.digest(_SALT, json.dumps([plain, password]).encode(), "sha256").hex()
    return Terms(key, f"{config.host}:{config.port}", hashlib.sha256(plain.encode()).hexdigest(), *end)


def replica_id(installation: str, host: str, replica: str) -> int:
    """Of the relay of one Core: the same after a restart, so that a dump that was left over ends."""
    return derived(f"{installation}/{host}/{replica}/shared")
