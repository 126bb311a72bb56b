"""Caches table versions by the raw bytes of their TABLE_MAP events, with their plans and functions."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from replicator.decode.binlog import table_map, virtual_columns
from replicator.decode.binlog.partial_updates import PartialRows
from replicator.decode.plan.compiler import Operation, Renderer, Rows, compile_rows
from replicator.decode.plan.deferred_fields import deferred_text
from replicator.errors import DecodeError
from replicator.model.metadata_event import TableChange
from replicator.model.plan import TablePlan
from replicator.model.table import Table
from replicator.pipeline.ports import Catalog, Planner

Compile: TypeAlias = Callable[[TablePlan, Table, Operation, Renderer, bool], Rows]

Guard: TypeAlias = Callable[[bytes, int, int], bool]
"""(bytes of a row event, where its column count is, operation) -> whether its transaction is skipped"""

Wrap: TypeAlias = Callable[[int, Rows], Rows]
"""(operation, row function) -> what takes its place"""

OPERATIONS: Final[tuple[Operation, ...]] = ("insert", "update", "delete")
_MOST_VERSIONS: Final = 4000
"""With their functions: some 30 KB each."""
_MOST_IDS: Final = 20_000


class Version:
    """One table version. `functions` are by operation (insert, update, delete), None until first needed;
    `deferred`: what its records wait for; `guard`: asked about transactions whose first row event is of this table."""

    __slots__ = (
        "_accept_partial",
        "_compile",
        "_ordinary",
        "_partial",
        "_rendering",
        "_wrap",
        "deferred",
        "functions",
        "guard",
        "plan",
        "raw",
        "table",
    )

    def __init__(
        self,
        raw: bytes,
        table: Table,
        plan: TablePlan | None,
        rendering: Renderer,
        *,
        accept_partial: bool,
        compile: Compile = compile_rows,  # noqa: A002
        guard: Guard | None = None,
    ) -> None:
        self.raw = raw
        self.guard = guard
        self.table = table
        self.plan = plan
        self.deferred = None if plan is None else deferred_text(plan)
        self.functions: list[Rows | None] = [None, None, None]
        self._ordinary: list[Rows | None] = [None, None, None]
        self._wrap: Wrap | None = None
        self._rendering = rendering
        self._accept_partial = accept_partial
        self._compile = compile
        self._partial: PartialRows | None = None

    def whole_rows(self, b: bytes, p: int, end: int) -> bytes:
        """See `PartialRows.whole`."""
        if self._partial is None:
            self._partial = PartialRows(self.table, accept_partial=self._accept_partial)
        return self._partial.whole(b, p, end)

    def compile(self, operation: int) -> Rows:
        """Only for a version with a plan. Raises DecodeError for columns that can't be read or written."""
        assert self.plan is not None, "asked only for replicated tables"  # noqa: S101
        rows = self._compile(self.plan, self.table, OPERATIONS[operation], self._rendering, self._accept_partial)
        self._ordinary[operation] = rows
        if self._wrap is not None:
            rows = self._wrap(operation, rows)
        self.functions[operation] = rows
        return rows

    def watch(self, wrap: Wrap | None) -> None:
        """From now on the functions are what `wrap` makes of them; None: they are the ordinary ones."""
        self._wrap = wrap
        for operation, rows in enumerate(self._ordinary):
            self.functions[operation] = rows if rows is None or wrap is None else wrap(operation, rows)

    def release(self) -> None:
        """Frees the functions; they are made again if rows come."""
        self.functions[:] = self._ordinary[:] = (None, None, None)


class TableVersions:
    """The versions of the tables in a stream. Table ids hold until the next file; versions are kept over files, the
    least recently mapped ones are dropped.

    Args:
        accept_partial: also rows that come without some of their columns.
        catalog: asked for what a table map does not say, of tables that are `selected`.
        compile: makes the functions.
        guard_of: tells which tables mark transactions that are skipped.

    Attributes:
        at_fault: `database.table` whose map or rows could not be read; "" so far.
    """

    def __init__(
        self,
        planner: Planner,
        rendering: Renderer,
        *,
        mariadb: bool,
        accept_partial: bool = False,
        catalog: Catalog | None = None,
        selected: Callable[[str, str], bool] = lambda database, table: True,
        compile: Compile = compile_rows,  # noqa: A002
        guard_of: Callable[[Table], Guard | None] = lambda table: None,
    ) -> None:
        self.ids: dict[int, Version] = {}
        self.at_fault = ""
        self._known: OrderedDict[bytes, Version] = OrderedDict()
        self._planner = planner
        self._rendering = rendering
        self._mariadb = mariadb
        self._accept_partial = accept_partial
        self._catalog = catalog
        self._selected = selected
        self._compile = compile
        self._guard_of = guard_of
        self._virtual_logged = True
        self._generated_omitted = False
        self._watch: Callable[[Version], Wrap | None] | None = None

    def forget_ids(self) -> None:
        self.ids.clear()

    def written_by(self, version: bytes) -> None:
        """A file begins: which server has written it, as its FORMAT_DESCRIPTION tells."""
        found = virtual_columns.logged(version), virtual_columns.omitted(version)
        if found != (self._virtual_logged, self._generated_omitted):
            self._virtual_logged, self._generated_omitted = found
            self._known.clear()

    def forget(self, changes: Iterable[TableChange], *, every: bool = False) -> None:
        """These tables, or all, are described again when they are mapped next: their definitions have changed."""
        names = {name for change in changes for name in ((change.database, change.name), change.new_name)}

        def changed(version: Version) -> bool:
            return every or (version.table.database, version.table.name) in names

        self._known = OrderedDict((raw, version) for raw, version in self._known.items() if not changed(version))
        for table_id in [table_id for table_id, version in self.ids.items() if changed(version)]:
            del self.ids[table_id]

    def watch(self, wrap: Callable[[Version], Wrap | None] | None) -> None:
        """From now on `wrap` says of each version what its functions become; see `Version.watch`."""
        self._watch = wrap
        for version in (*self._known.values(), *self.ids.values()):
            version.watch(wrap(version) if wrap is not None else None)

    def map(self, table_id: int, raw: bytes) -> None:
        """`raw`: the TABLE_MAP's body behind the table id.

        Raises:
            DecodeError: E2302; E2306 when a replicated table comes without its column names.
        """
        version = self.ids.get(table_id)
        if version is not None and version.raw == raw:
            return
        version = self._known.get(raw)
        if version is None:
            version = self._known[raw] = self._parse(raw)
            if len(self._known) > _MOST_VERSIONS:
                _, dropped = self._known.popitem(last=False)
                dropped.release()  # it may still have an id, and rows to come
        else:
            self._known.move_to_end(raw)
        if len(self.ids) >= _MOST_IDS:
            self.ids.pop(next(iter(self.ids)))
        self.ids.pop(table_id, None)
        self.ids[table_id] = version

    def _parse(self, raw: bytes) -> Version:
        mapped = table_map.parse(raw, mariadb=self._mariadb)
        try:
            return self._planned(raw, mapped.table, mapped.named)
        except Exception:
            self.at_fault = mapped.table.qualified
            raise

    def _planned(self, raw: bytes, table: Table, named: bool) -> Version:
        if self._catalog is not None and self._selected(table.database, table.name):
            table, named = self._catalog.describe(table, named=named), True
        if self._generated_omitted:
            table = virtual_columns.marked(table)
        plan = self._planner(table)
        if plan is not None and not named:
            raise DecodeError(
                "E2306",
                f"the table map of {table.qualified} has no column names",
                found="binlog_row_metadata = MINIMAL",
                wanted="binlog_row_metadata = FULL",
                fix="SET GLOBAL binlog_row_metadata = 'FULL'; then create a new task that starts after these rows.",
            )
        if plan is not None and not self._virtual_logged:
            virtual_columns.check(plan, table)
        made = Version(
            raw,
            table,
            plan,
            self._rendering,
            accept_partial=self._accept_partial,
            compile=self._compile,
            guard=self._guard_of(table),
        )
        if self._watch is not None:
            made.watch(self._watch(made))
        return made
