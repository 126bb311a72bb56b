"""Records of the statements that change definitions, for sinks that are databases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec

from replicator.config.ddl import DdlRules
from replicator.model.metadata_event import Message, Moment, Statement, StatementSettings
from replicator.model.target_statement import ShardChange, TargetStatement
from replicator.model.target_table import STATEMENT


class Rewriting(msgspec.Struct, frozen=True):
    """A statement for the target. `sql` "": it changes nothing there, or `refusal` says why it can't be rewritten."""

    sql: str = ""
    tables: tuple[tuple[str, str], ...] = ()
    databases: tuple[str, ...] = ()
    renames: tuple[tuple[tuple[str, str], tuple[str, str]], ...] = ()
    refusal: str = ""
    fix: str = ""
    shard: ShardChange | None = None


Rewrite: TypeAlias = Callable[[Statement], Rewriting]
_STOPPED: Final = "sink.ddl stops the task at this statement"
_DO_IT: Final = (
    "Change the target's tables by hand as far as needed; then `replicator task skip NAME` passes over the statement."
)


class TargetStatements:
    """Args:
    mariadb: flavor of the source.
    """

    def __init__(self, rules: DdlRules, rewrite: Rewrite, *, mariadb: bool) -> None:
        self._rules = rules
        self._rewrite = rewrite
        self._mariadb = mariadb

    def message(self, statement: Statement, moment: Moment) -> Message | None:
        """None: it is ignored, or of no concern to the target."""
        action = self._rules.action(statement.kind)
        if action == "ignore":
            return None
        made = self._rewrite(statement)
        if not made.sql and not made.refusal:
            return None
        refusal, fix = made.refusal, made.fix
        if action == "stop" and not refusal:
            refusal, fix = _STOPPED, _DO_IT
        value = TargetStatement(
            kind=statement.kind,
            action="stop" if refusal else "apply",
            sql="" if refusal else made.sql,
            source=statement.text,
            tables=made.tables,
            databases=made.databases,
            renames=made.renames,
            refusal=refusal,
            fix=fix or _DO_IT,
            settings=statement.settings or StatementSettings(),
            time_s=moment.event_s,
            mariadb=self._mariadb,
            end=f"{moment.file}:{moment.end}",
            shard=made.shard,
        )
        return Message(STATEMENT, None, msgspec.json.encode(value))
