"""A statement of the source in a record for a database sink."""

from __future__ import annotations

from typing import Literal

import msgspec

from replicator.model.metadata_event import StatementSettings, TableKey
from replicator.model.target_table import TargetTable


class ShardChange(msgspec.Struct, frozen=True):
    """What a statement does to one of several tables that are merged into one.

    Attributes:
        before, after: the table as its row images describe it; None: it did not exist.
        indexes: that are added, with their columns at the target; the name may be "".
        defined: columns of both that the statement defines again, by their names at the target.
    """

    before: TargetTable | None
    after: TargetTable
    indexes: tuple[TableKey, ...] = ()
    defined: tuple[str, ...] = ()


class TargetStatement(msgspec.Struct, frozen=True):
    """The value of a record with the topic `target_table.STATEMENT`, as JSON.

    Attributes:
        kind: see `metadata_event.Statement`.
        action: "apply": execute `sql`; "stop": stop with `refusal`.
        sql: for the target, with its names; "" where it must not be executed.
        source: as the source wrote it.
        tables: (database, table) at the target whose definitions it changes, before and after it.
        renames: of RENAME TABLE, at the target, in order.
        databases: at the target that it creates, alters or drops.
        refusal, fix: why it is not executed, and what to do.
        settings: of the session at the source.
        time_s: when it was executed at the source.
        mariadb: flavor of the source.
        end: `file:offset` behind it in the source's log; "" where there is none.
        shard: whether it is executed depends on the target's table; None: it is.
    """

    kind: str
    action: Literal["apply", "stop"]
    sql: str
    source: str
    tables: tuple[tuple[str, str], ...] = ()
    databases: tuple[str, ...] = ()
    renames: tuple[tuple[tuple[str, str], tuple[str, str]], ...] = ()
    refusal: str = ""
    fix: str = ""
    settings: StatementSettings = StatementSettings()
    time_s: int = 0
    mariadb: bool = False
    end: str = ""
    shard: ShardChange | None = None
