"""Events of a binlog other than rows, as formats receive them: statements, transactions, heartbeats."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from replicator.model.batch import Headers
from replicator.model.table import Table

Verb: TypeAlias = Literal["CREATE", "ALTER", "DROP", "RENAME", "TRUNCATE"]


class Moment(msgspec.Struct, frozen=True):
    """The event at hand.

    Attributes:
        event_s: timestamp in the event's header, s; `SET timestamp` moves it.
        ts_us: commit time at the source, us since the epoch (see `plan.Variable`).
        now_ns: time of decoding, ns since the epoch.
        gtid: the transaction's GTID; "" without.
        executed: the executed GTID set, this transaction included; "" when not known, or when the format lacks
            the interest "executed".
        file, offset, end: binlog file, first byte of the event, byte behind it.
        server_id, thread: of the server where the change was made, and its session; thread is None when not known.
    """

    event_s: int
    ts_us: int
    now_ns: int
    gtid: str
    executed: str
    file: str
    offset: int
    end: int
    server_id: int
    thread: int | None = None


class TableKey(msgspec.Struct, frozen=True):
    """`whole`: neither prefixes of columns nor expressions in it."""

    name: str
    columns: tuple[str, ...]
    unique: bool = False
    whole: bool = True

    @property
    def primary(self) -> bool:
        return self.name == "PRIMARY"


class TableChange(msgspec.Struct, frozen=True):
    """What a statement did to one table.

    Attributes:
        table: after the change; None once it is gone or when the statement could not be understood so far.
        new_name: (database, table) for a RENAME.
        before: the table before an ALTER or RENAME; None when it is not known.
        keys: of the table after a RENAME; empty where they are not known.
    """

    verb: Verb
    database: str
    name: str
    table: Table | None = None
    new_name: tuple[str, str] | None = None
    before: Table | None = None
    keys: tuple[TableKey, ...] = ()


class StatementSettings(msgspec.Struct, frozen=True):
    """Settings of the session that executed a statement, as the binlog has them.

    Attributes:
        sql_mode: bits; 0 when not known.
        time_zone: "" where the statement does not depend on it.
        foreign_key_checks: whether they were on.
        microsecond: fraction of the second of NOW(6), 0 where the statement does not depend on it.
    """

    sql_mode: int = 0
    time_zone: str = ""
    foreign_key_checks: bool = True
    microsecond: int = 0


class Statement(msgspec.Struct, frozen=True):
    """A statement of the binlog that changed no rows itself: DDL, account management and the like.

    Attributes:
        database: the session's default database, "" without.
        text: as the server wrote it, comments included.
        kind: the first words, in upper case: "CREATE TABLE", "DROP DATABASE", "CREATE INDEX", "GRANT", ... as far as
            understood; for formats that sort statements.
        changes: what it did to tables, in order; empty for statements without tables.
        charset: default of the database behind a CREATE or ALTER DATABASE; None when it is not known.
        settings: of its session; None where the stream does not have them.
    """

    database: str
    text: str
    kind: str
    changes: tuple[TableChange, ...] = ()
    charset: str | None = None
    settings: StatementSettings | None = None


class Message(msgspec.Struct, frozen=True):
    """A record that is not a row's. Numbered like a row of its transaction. `route`: see `model.batch.Record`."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    route: bytes | None = None
