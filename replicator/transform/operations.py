"""`transforms.operations`: omits operations."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from replicator.config.transforms import OperationRule
from replicator.model.metadata_event import Message, Moment, Statement
from replicator.model.plan import TablePlan
from replicator.model.table import Table
from replicator.pipeline.ports import Interest, Narrator
from replicator.transform.names import Scope

_TRUNCATE: Final = re.compile(
    r"\s*TRUNCATE\s+(?:TABLE\s+)?(?:(`(?:[^`]|``)+`|[\w$]+)\s*\.\s*)?(`(?:[^`]|``)+`|[\w$]+)", re.IGNORECASE
)


class Operations:
    """All rules for a table count. Operations are those of records: an update that moves a row into a filter is an
    insert."""

    def __init__(self, rules: Sequence[OperationRule]) -> None:
        self._rules = [(Scope(rule.tables), frozenset(rule.skip)) for rule in rules]

    def skipped(self, table: Table) -> frozenset[str]:
        return frozenset(word for scope, skip in self._rules if table in scope for word in skip)

    def __call__(self, source: Table, plan: TablePlan) -> TablePlan:
        skipped = self.skipped(source)
        return msgspec.structs.replace(
            plan,
            insert=() if "insert" in skipped else plan.insert,
            update=() if "update" in skipped else plan.update,
            rekey=None if "update" in skipped else plan.rekey,
            delete=() if "delete" in skipped else plan.delete,
        )

    def narrator(self, inner: Narrator, *, hides: bool) -> Narrator:
        """`inner` without the TRUNCATEs that are skipped. `hides`: and without the statements behind rows."""
        quiet = any("truncate" in skip for _, skip in self._rules) or (hides and "query" in inner.interests)
        return _Quiet(inner, self, hides) if quiet else inner


class _Quiet:
    """A `ports.Narrator`."""

    def __init__(self, inner: Narrator, operations: Operations, hides: bool) -> None:
        hidden: frozenset[Interest] = frozenset({"query"}) if hides else frozenset()
        self.interests: frozenset[Interest] = inner.interests - hidden
        self._inner = inner
        self._operations = operations

    def statement(self, statement: Statement, moment: Moment) -> Sequence[Message]:
        emptied = _emptied(statement)
        if emptied and all("truncate" in self._operations.skipped(table) for table in emptied):
            return ()
        return self._inner.statement(statement, moment)

    def begin(self, moment: Moment) -> Sequence[Message]:
        return self._inner.begin(moment)

    def end(self, moment: Moment, rows: Mapping[tuple[str, str], int]) -> Sequence[Message]:
        return self._inner.end(moment, rows)

    def query(self, text: str, moment: Moment) -> Sequence[Message]:
        return self._inner.query(text, moment)

    def heartbeat(self, moment: Moment) -> Sequence[Message]:
        return self._inner.heartbeat(moment)


def _emptied(statement: Statement) -> list[Table]:
    """The tables of a TRUNCATE; from its text where there is no schema history."""
    if statement.changes:
        return [Table(one.database, one.name, ()) for one in statement.changes if one.verb == "TRUNCATE"]
    match = _TRUNCATE.match(statement.text) if statement.kind.startswith("TRUNCATE") else None
    return [Table(_bare(match[1] or statement.database), _bare(match[2]), ())] if match else []


def _bare(name: str) -> str:
    return name[1:-1].replace("``", "`") if name[:1] == "`" else name
