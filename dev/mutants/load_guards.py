"""Guards of rows that are written by SQL, above all by LOAD DATA, which refuses nothing."""

from __future__ import annotations

from typing import Final

from dev.mutants.guard import Guard

_LOAD: Final = "replicator/sink/mysql/sql/load_data.py"
_MODE: Final = "replicator/sink/mysql/sql/load_mode.py"
_TRANSACTION: Final = "replicator/sink/mysql/transaction.py"
_REFUSED: Final = "tests/integration/sink/mysql/test_load_data.py"
_UNIT: Final = ("tests/unit/sink/mysql/test_load_data.py",)

LOADS: Final[tuple[Guard, ...]] = (
    Guard(
        "load data: a value that was changed is noticed",
        _LOAD,
        "@replicator_warnings = 0 AND ",
        "",
        (f"{_REFUSED}::test_values_that_do_not_fit",),
    ),
    Guard(
        "load data: rows that are missing are noticed",
        _LOAD,
        " AND @replicator_rows = %d, 1, %s",
        " AND %d > 0, 1, %s",
        (f"{_REFUSED}::test_documents_that_are_no_text",),
    ),
    Guard(
        "load data: what it has not taken is rolled back before INSERT repeats it",
        _TRANSACTION,
        "        self._undo(was_open, sequence)\n        outcome, of_rows = self._executed(",
        "        outcome, of_rows = self._executed(",
        (f"{_REFUSED}::test_values_that_do_not_fit",),
    ),
    Guard(
        "load data: rows of earlier parts of the transaction stay",
        _TRANSACTION,
        "        if was_open and not resolves:",
        "        if False:",
        (f"{_REFUSED}::test_large_transactions",),
    ),
    Guard(
        "load data: a server gets nothing but the rows of its statement",
        "replicator/mysql/multi_statements.py",
        "                if rows is None:\n",
        "                if rows is None and packets.file((b'rows',)) is None:\n",
        ("tests/unit/mysql/test_multi_statements.py",),
    ),
    Guard(
        "load data: a connection that fails among the rows is closed",
        "replicator/mysql/multi_statements.py",
        "    except BaseException:\n        session.abort()\n        raise\n    return Outcome(done)\n",
        "    return Outcome(done)\n",
        ("tests/unit/mysql/test_multi_statements.py",),
    ),
    Guard(
        "load data: a connection that fails says nothing more",
        "replicator/mysql/session.py",
        "            self.packets.sock.shutdown(socket.SHUT_RDWR)\n",
        "            pass\n",
        (f"{_REFUSED}::test_an_aborted_session_says_nothing",),
    ),
    Guard(
        "load data: not for ever over a proxy that ends connections",
        _MODE,
        "allowed and self._lost < _MOST_LOST",
        "allowed",
        _UNIT,
    ),
    Guard(
        "load data: not where the server commits a part of it",
        _MODE,
        '_WSREP_SPLITTING: "OFF", ',
        "",
        _UNIT,
    ),
    Guard(
        "load data: not where replicas would execute it",
        _MODE,
        ', _BINLOG_FORMAT: "ROW"}',
        "}",
        _UNIT,
    ),
    Guard(
        "sql: updates are merged only where their keys remain",
        "replicator/sink/mysql/sql/statements.py",
        "if table.merges and found.text == keys.piece(afters, new, piece.rows, _ANY)[0]:",
        "if table.merges:",
        ("tests/unit/sink/mysql/test_sql_statements.py",),
    ),
    Guard(
        "sql: compiled rows with an ENUM 0 are apart",
        "replicator/compiled/row_texts.pyx",
        "                if rows and its != lenient:\n",
        "                if False:\n",
        ("tests/unit/compiled/test_row_texts.py",),
        compiled=True,
    ),
    Guard(
        "sql: a number of more digits than its DECIMAL has is the twin's",
        "replicator/compiled/statement_values.pxd",
        "    if number >= REPLICATOR_POWER[digits]:\n",
        "    if False:\n",
        ("tests/unit/compiled/test_row_texts.py",),
        compiled=True,
    ),
)
