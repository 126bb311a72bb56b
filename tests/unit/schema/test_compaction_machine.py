"""Statements, restarts, definitions by operators and crashes between any two writes of the schema history in znodes, in
any order: each session finds the definitions that held at its position, and the records stay few."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar
from unittest.mock import patch

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from replicator.config.tables import TableFilter
from replicator.coordination.in_memory.coordinator import MemoryEnsemble
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Op
from replicator.coordination.tasks import schema_nodes
from replicator.coordination.tasks.schema_nodes import SchemaNodes
from replicator.errors import SessionRenewed
from replicator.model import types
from replicator.model.metadata_event import Statement
from replicator.model.schema_history import SchemaRecord
from replicator.pipeline.ports import HistoryStore
from replicator.schema import history
from replicator.schema.catalog import SchemaCatalog
from replicator.schema.manual_definitions import manual_definition
from tests.support.schema_history import CREATE, ROW, Task, described, event

T = TypeVar("T")
COMPACT = 4
OWN = "host-" + "0" * 32 + "-0000000000"
MANUAL = event(types.LONG, name="manual")


class Crash(Exception):
    pass


class Crashing:
    """A coordinator whose process ends before or after the n-th write from now on."""

    def __init__(self, coordinator: Any) -> None:
        self._coordinator = coordinator
        self.left = -1
        self.after = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._coordinator, name)

    def multi(self, ops: Sequence[Op]) -> Any:
        if self.left != 0:
            self.left -= self.left > 0
            return self._coordinator.multi(ops)
        self.left = -1
        if self.after:
            self._coordinator.multi(ops)
        raise Crash


class _Kept:
    """Another process that reads and writes nothing."""

    def __init__(self, store: HistoryStore) -> None:
        self.load = store.load

    def append(self, record: SchemaRecord) -> None:
        pass


class Compaction(RuleBasedStateMachine):
    """Statement n renames the column v<n-1> of d.t to v<n>; the stream is read again from wherever a session begins."""

    def __init__(self) -> None:
        super().__init__()
        self._patches = contextlib.ExitStack()
        for where, name, value in (
            (history, "COMPACT", COMPACT),
            (schema_nodes, "_DELETES", 2),
            (schema_nodes, "PART", 400),
        ):
            self._patches.enter_context(patch.object(where, name, value))
        self.layout = Layout("/test")
        self.coordinator = Crashing(MemoryEnsemble().session())
        self.coordinator.create(self.layout.contender("task", OWN), parents=True)
        self.task = Task()
        self.task.store = SchemaNodes(self.coordinator, self.layout, "task", OWN)  # type: ignore[assignment]
        self.next = self.delivered = 1
        self.manual: list[str] = []
        self.catalog: SchemaCatalog | None = None

    def teardown(self) -> None:
        self._patches.close()

    def _running(self, do: Callable[[SchemaCatalog], T]) -> T | None:
        """None: the process died, or the session is to begin again."""
        try:
            if self.catalog is None:
                self.delivered = self.next  # a session begins behind what the sink has
                self.catalog = self.task.at(self.next)
            return do(self.catalog)
        except (Crash, SessionRenewed) as ended:
            self.catalog = None
            if isinstance(ended, Crash):
                self.next = self.delivered
            return None

    @rule(armed=st.integers(0, 12), after=st.booleans())
    def crashes_soon(self, armed: int, after: bool) -> None:
        self.coordinator.left, self.coordinator.after = armed, after

    @rule(count=st.integers(1, 6))
    def statements(self, count: int) -> None:
        for _ in range(count):
            number = self.next
            text = CREATE if number == 1 else f"ALTER TABLE t RENAME COLUMN {self.column(number)} TO v{number}"
            said = self._running(partial(self._say, number, text))
            self.next += said is not None

    def _say(self, number: int, text: str, catalog: SchemaCatalog) -> Statement:
        return self.task.say(number, text, catalog)

    @rule()
    def all_is_delivered(self) -> None:
        self.delivered = self.next

    @rule(data=st.data())
    def restarts(self, data: st.DataObject) -> None:
        self.catalog = None
        self.next = data.draw(st.integers(self.delivered, self.next))

    @precondition(lambda self: self.catalog is None)
    @rule(number=st.integers(0, 9))
    def an_operator_supplies_a_table(self, number: int) -> None:
        text = f"CREATE TABLE d.manual (m{number} INT)"
        store, position = self.task.store, self.task.position(self.delivered)
        try:
            store.append(manual_definition(history.History(store, mariadb=False), text, position))
        except Crash:
            return
        self.manual = [f"m{number}"]
        self.next = self.delivered

    @invariant()
    def definitions_hold(self) -> None:
        found = history.History(_Kept(self.task.store), mariadb=False, scope=self.task.tables)
        state = found.state(self.task.position(self.next))
        assert not self.manual or ("d", "manual") in state.manual
        catalog = SchemaCatalog(found, self.task.position(self.next), TableFilter(self.task.tables))
        if self.next > 1:
            assert described(catalog, ROW) == ["id", self.column(self.next)]
        if self.manual:
            assert described(catalog, MANUAL) == self.manual

    @invariant()
    def there_are_few_znodes(self) -> None:
        records = self.task.store.load()
        assert len(records) <= 4 * COMPACT + 12

    @staticmethod
    def column(number: int) -> str:
        """As of the statement of this number, before it."""
        return "v" if number <= 2 else f"v{number - 1}"


Compaction.TestCase.settings = settings(
    max_examples=40, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
TestCompaction = Compaction.TestCase
