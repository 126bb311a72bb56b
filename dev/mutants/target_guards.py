"""Guards of sinks that are database servers: exactly once, terms, columns."""

from __future__ import annotations

from typing import Final

from dev.mutants.guard import Guard

_TABLE: Final = "replicator/sink/mysql/position_table.py"
_CLAIM: Final = "replicator/sink/mysql/claim.py"
_COLUMNS: Final = "replicator/sink/mysql/target_columns.py"
_GROUPS: Final = "replicator/sink/mysql/row_groups.py"
_ONCE: Final = ("tests/integration/sink/mysql/test_exactly_once.py",)
_SHAPES: Final = ("tests/integration/sink/mysql/test_shapes.py",)
_GENERATED: Final = ("tests/integration/sink/mysql/test_generated_columns.py",)
_CONVERSIONS: Final = "replicator/sink/mysql/conversions.py"
_TRANSCODING: Final = ("tests/unit/sink/mysql/test_transcoding.py",)
_FAULTS: Final = ("tests/integration/sink/mysql/test_target_faults.py",)
_LOOPS: Final = ("tests/unit/decode/test_loop_guard.py",)
_FILLING: Final = "replicator/sink/mysql/filling.py"
_SNAPSHOTS: Final = "tests/integration/sink/mysql/test_snapshots.py"
_AUTHORITY: Final = ("tests/unit/pipeline/test_authority.py",)

TARGETS: Final[tuple[Guard, ...]] = (
    Guard(
        "loop guard: rows of transactions that tasks have written are left out",
        "replicator/decode/transactions/row_events.py",
        "if version.plan is None or state.skipped:",
        "if version.plan is None:",
        _LOOPS,
    ),
    Guard(
        "loop guard: the compiled loop leaves them out",
        "replicator/compiled/loop.pyx",
        "if known.replicated and not self.skipped:",
        "if known.replicated:",
        _LOOPS,
        compiled=True,
    ),
    Guard(
        "loop guard: only the first row event marks a transaction",
        "replicator/decode/transactions/row_events.py",
        "if state.row_events == 1 and version.guard is not None:",
        "if version.guard is not None:",
        _LOOPS,
    ),
    Guard(
        "loop guard: statements of tasks are left out",
        "replicator/decode/transactions/metadata_events.py",
        "and self._narrator is not None and not skipped:",
        "and self._narrator is not None:",
        _LOOPS,
    ),
    Guard(
        "loop guard: tables in which tasks keep their state are never replicated",
        "replicator/config/tables.py",
        "if table in BOOKKEEPING or not any_of(self._include)",
        "if not any_of(self._include)",
        ("tests/unit/config/test_tables.py",),
    ),
    Guard(
        "target: UNSIGNED numbers need a larger signed type",
        _CONVERSIONS,
        "if column.unsigned and not target.unsigned and stored == given:",
        "if False:",
        _SHAPES,
    ),
    Guard(
        "target: DECIMAL has as many digits in front of the point",
        _CONVERSIONS,
        "if places < scale or digits - places < precision - scale:",
        "if places < scale or digits < precision:",
        _SHAPES,
    ),
    Guard(
        "target: texts that grow in UTF-8 fit",
        _CONVERSIONS,
        "return longest * growth <= _longest(target.type, target.meta)",
        "return longest <= _longest(target.type, target.meta)",
        _SHAPES,
    ),
    Guard(
        "target: texts are not stored in CHAR, which drops spaces",
        _CONVERSIONS,
        "(target.type == types.STRING and not fixed):",
        "False:",
        _SHAPES,
    ),
    Guard(
        "target: fractions of negative times are negative",
        "replicator/sink/mysql/transcoding.py",
        "if step.second and number and head[0] < 0x80:",
        "if False:",
        _TRANSCODING,
    ),
    Guard(
        "target: fractions of negative times are negative, compiled",
        "replicator/compiled/transcoding.pyx",
        "if step.second and number and p[0] < 0x80:",
        "if False:",
        _TRANSCODING,
    ),
    Guard(
        "target: the images that a row is named by are converted",
        "replicator/sink/mysql/stored_rows.py",
        "converted = ConvertedRecords(records, route)",
        "converted = records",
        ("tests/integration/sink/mysql/test_conversions.py",),
    ),
    Guard(
        "target: generated columns that updates lack are not copied",
        "replicator/decode/plan/table_versions.py",
        "        if self._generated_omitted:\n",
        "        if False:\n",
        _GENERATED,
    ),
    Guard(
        "target: what the images lack as generated is generated at the target",
        _COLUMNS,
        "elif name.lower() not in definition.generated:",
        "elif False:",
        _GENERATED,
    ),
    Guard(
        "target: a server that computes no generated columns is refused",
        "replicator/sink/mysql/target_definition.py",
        "if some and server.mariadb and server.version < _COMPUTES:",
        "if False:",
        _GENERATED,
    ),
    Guard(
        "target: a row of another term is not changed",
        _TABLE,
        'b"UPDATE %s SET sequence = sequence + 1%s WHERE %s AND epoch = %d AND sequence = %d;"',
        'b"UPDATE %s SET sequence = sequence + 1%s WHERE %s AND (1 OR %d = %d);"',
        _ONCE,
    ),
    Guard(
        "target: a change of no row fails",
        _TABLE,
        "IF(ROW_COUNT() = 1, 1, (SELECT 1 UNION ALL SELECT 2))",
        "IF(ROW_COUNT() < 2, 1, (SELECT 1 UNION ALL SELECT 2))",
        _ONCE,
    ),
    Guard(
        "target: a claim raises the sequence",
        _TABLE,
        "(term.epoch, row.sequence + 1, term.host, *self._key))\n        return row.sequence + 1\n",
        "(term.epoch, row.sequence, term.host, *self._key))\n        return row.sequence\n",
        _ONCE,
    ),
    Guard(
        "target: a position of a term that is not known is refused",
        _CLAIM,
        "    if row is not None and row.uid == term.uid:\n        where",
        "    if False and row is not None:\n        where",
        _ONCE,
    ),
    Guard(
        "target: sessions of other accounts are not ended",
        _CLAIM,
        "if user != session.user or row.connection_id",
        "if row.connection_id",
        _ONCE,
    ),
    Guard(
        "target: a session that has the lock is ended",
        _CLAIM,
        "        if row is not None:\n            (release",
        "        if row is None:\n            (release",
        _ONCE,
    ),
    Guard(
        "target: a column that it lacks is noticed",
        _COLUMNS,
        '            yield Problem(column.name, "no such column", "missing")\n',
        "            pass\n",
        _SHAPES,
    ),
    Guard(
        "target: members of ENUM and SET are compared",
        _CONVERSIONS,
        "    if column.members != target.texts[: len(column.members)]:\n",
        "    if False:\n",
        _SHAPES,
    ),
    Guard(
        "target: NULL is not written to NOT NULL columns",
        _COLUMNS,
        "        if column.nullable and not columns[index].nullable:\n",
        "        if False:\n",
        _SHAPES,
    ),
    Guard(
        "target: AUTO_INCREMENT columns in front of the images' are refused",
        _COLUMNS,
        "automatic.lower() not in given and at[automatic.lower()] < end:",
        "False:",
        _SHAPES,
    ),
    Guard(
        "target: rows with and without foreign key checks are different statements",
        _GROUPS,
        "        if self._parts and _unchecked(part) != self._marked:\n",
        "        if False:\n",
        ("tests/integration/sink/mysql/test_foreign_keys.py",),
    ),
    Guard(
        "target: only the last event of a statement ends it",
        _GROUPS,
        "last=index == len(left))",
        "last=True)",
        _FAULTS,
    ),
    Guard(
        "target: a position that is behind is that of the rows",
        "replicator/pipeline/authority.py",
        "    if rows and known.in_sink:\n",
        "    if False:\n",
        _AUTHORITY,
    ),
    Guard(
        "restore: the schema history of a backup does not reach the sink's position",
        "replicator/pipeline/authority.py",
        "    return msgspec.structs.replace(chosen, unseen=unseen)\n",
        "    return chosen\n",
        _AUTHORITY,
    ),
    Guard(
        "target: changes of tables that a snapshot has not completed converge",
        _FILLING,
        "        if rows.filling:\n",
        "        if False:\n",
        (f"{_SNAPSHOTS}::test_writers_during_the_copy",),
    ),
    Guard(
        "target: changes are not checked against rows that are not copied yet",
        _FILLING,
        "not run.operation.startswith(UNCHECKED) and filling.selected(source)",
        "False",
        (f"{_SNAPSHOTS}::test_writers_during_the_copy",),
    ),
    Guard(
        "target: a snapshot does not begin in tables with rows",
        _FILLING,
        "    if filled:\n",
        "    if False:\n",
        (f"{_SNAPSHOTS}::test_existing_rows_are_refused_before_anything_is_written",),
    ),
    Guard(
        "target: a snapshot has no table with cascades that are not logged",
        "replicator/source/mysql/snapshot/cascades.py",
        "    if acting:\n",
        "    if False:\n",
        (f"{_SNAPSHOTS}::test_tables_whose_rows_change_unlogged_are_refused",),
    ),
)
