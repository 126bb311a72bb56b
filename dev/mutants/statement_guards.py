"""Guards of statements that are executed at a target: order, names, and crashes in the middle."""

from __future__ import annotations

from typing import Final

from dev.mutants.guard import Guard

_DDL: Final = "replicator/sink/mysql/ddl.py"
_DEFINITIONS: Final = "replicator/sink/mysql/definitions.py"
_TESTS: Final = "tests/integration/sink/mysql/test_statements.py"
_REWRITE: Final = "replicator/schema/rewrite/elements.py"
_REWRITE_TESTS: Final = ("tests/unit/schema/rewrite/test_rewrite.py",)
_RECORD_TESTS: Final = ("tests/unit/assembly/test_target_ddl.py",)

STATEMENTS: Final[tuple[Guard, ...]] = (
    Guard(
        "statements: an executed one is passed over when the source sends it again",
        _DDL,
        "        if id_ == self._done:",
        '        if id_ == "":',
        (f"{_TESTS}::test_a_connection_is_cut_in_a_statement",),
    ),
    Guard(
        "statements: a term waits for the one that an earlier term executes",
        _DDL,
        "            self._wait_for(noted.connection)",
        "            pass",
        (f"{_TESTS}::test_a_later_term_waits_for_the_statement_of_an_earlier_one",),
    ),
    Guard(
        "statements: tables that look the same are not exchanged",
        _DDL,
        "        if statement.renames and before.kept_by(",
        "        if not statement.renames and before.kept_by(",
        (f"{_TESTS}::test_tables_that_look_the_same_are_not_exchanged",),
    ),
    Guard(
        "statements: everything before is committed first",
        "replicator/pipeline/pipeline.py",
        "            if ready is not None and batch.barrier:",
        "            if ready is None and batch.barrier:",
        (f"{_TESTS}::test_statements_between_rows",),
    ),
    Guard(
        "statements: are not joined with rows",
        "replicator/pipeline/buffer.py",
        "    if first.barrier or second.barrier:",
        "    if first.barrier and second.barrier:",
        ("tests/unit/pipeline/test_buffer.py::test_a_statement_is_joined_with_nothing",),
    ),
    Guard(
        "statements: are in batches of their own",
        "replicator/decode/transactions/transaction_events.py",
        "            if self._metadata.barriers:",
        "            if not self._metadata.barriers:",
        _RECORD_TESTS,
    ),
    Guard(
        "statements: an expression over an excluded column is refused",
        _REWRITE,
        "        if columns.mentions(name):",
        "        if not name:",
        _REWRITE_TESTS,
    ),
    Guard(
        "statements: a primary key with an excluded column is refused",
        _REWRITE,
        "        if hidden and primary:",
        "        if hidden and not primary and False:",
        _REWRITE_TESTS,
    ),
    Guard(
        "statements: a column that may have been renamed by an online schema change is refused",
        "replicator/schema/rewrite/online_change.py",
        "    if dropped and added:",
        "    if dropped and not added and False:",
        _RECORD_TESTS,
    ),
    Guard(
        "statements: values that each server chooses are refused",
        "replicator/schema/rewrite/undetermined.py",
        "        if declared.auto_increment and not ordered:",
        "        if declared.auto_increment and not ordered and False:",
        _RECORD_TESTS,
    ),
)
