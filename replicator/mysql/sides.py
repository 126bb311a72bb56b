"""The error classes, codes and words of each side of a task that connects to a database server."""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec

from replicator.config.database_server import Section
from replicator.errors import ReplicatorError, SinkError, SinkUnavailable, SourceError, SourceUnavailable

Errors: TypeAlias = type[ReplicatorError]


class Side(msgspec.Struct, frozen=True):
    """Codes of the errors of one side.

    Attributes:
        section: of a task's configuration, in which the keys of the server are.
        refused, away: classes of errors: for good, and of what is tried again.
        unreachable, lost: of the class `away`: no connection could be made; it was lost.
        login, tls, privilege, unprotected, other: of the class `refused`: login refused, no TLS, missing privilege,
            password not protected, any other error of the server.
        purpose: what the account may not do without a missing privilege.
        privileges: that the account needs.
        wanted: of several servers.
    """

    section: Section
    refused: Errors
    away: Errors
    unreachable: str
    lost: str
    login: str
    tls: str
    privilege: str
    unprotected: str
    other: str
    purpose: str
    privileges: str
    wanted: str


SOURCE: Final = Side(
    section="source",
    refused=SourceError,
    away=SourceUnavailable,
    unreachable="E2001",
    lost="E2002",
    login="E2101",
    tls="E2102",
    privilege="E2104",
    unprotected="E2105",
    other="E2211",
    purpose="read the binlog",
    privileges="REPLICATION SLAVE, REPLICATION CLIENT",
    wanted="a writable server with all transactions that this task has delivered",
)
SINK: Final = Side(
    section="sink",
    refused=SinkError,
    away=SinkUnavailable,
    unreachable="E3401",
    lost="E3402",
    login="E3403",
    tls="E3404",
    privilege="E3405",
    unprotected="E3406",
    other="E3407",
    purpose="write rows",
    privileges="REPLICATION_APPLIER",
    wanted="a writable server",
)
_SIDES: Final[dict[Section, Side]] = {"source": SOURCE, "sink": SINK}


def side_of(section: Section) -> Side:
    return _SIDES[section]
