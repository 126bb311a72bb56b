"""`transforms.operations`: operations that become no record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from replicator.config.transforms import OperationRule
from replicator.model.happening import Message, Moment, Statement
from replicator.model.plan import TablePlan
from replicator.model.table import Table
from replicator.ports import Interest, Narrator
from replicator.transform.names import Scope


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

    def narrator(self, inner: Narrator) -> Narrator:
        """`inner` without the TRUNCATEs that are skipped."""
        return _Quiet(inner, self) if any("truncate" in skip for _, skip in self._rules) else inner


class _Quiet:
    """A `ports.Narrator`."""

    def __init__(self, inner: Narrator, operations: Operations) -> None:
        self.interests: frozenset[Interest] = inner.interests
        self._inner = inner
        self._operations = operations

    def statement(self, statement: Statement, moment: Moment) -> Sequence[Message]:
        truncated = [
            Table(change.database, change.name, ()) for change in statement.changes if change.verb == "TRUNCATE"
        ]
        if truncated and all("truncate" in self._operations.skipped(table) for table in truncated):
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
