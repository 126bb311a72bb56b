"""Guards of the decoder where a snapshot depends on it: what watchers are told, how chunks are decoded."""

from __future__ import annotations

from typing import Final

from dev.mutants.guard import Guard

_WATCH: Final = "replicator/decode/transactions/table_watch.py"
_KEYS: Final = "replicator/decode/transactions/row_keys.py"
_CHUNKS: Final = "replicator/decode/snapshot/chunk_decoder.py"
_WATCH_TESTS: Final = ("tests/unit/decode/test_table_watch.py",)
_CHUNK_TESTS: Final = ("tests/unit/decode/snapshot/test_chunk_decoder.py",)

DECODER: Final[tuple[Guard, ...]] = (
    Guard(
        "watcher: told of rows that the compiled loop takes",
        "replicator/compiled/loop.pyx",
        "known.keys[operation] != NULL and self._note(known, operation, p, end) != NEXT:",
        "False:",
        _WATCH_TESTS,
        compiled=True,
    ),
    Guard(
        "watcher: an update has the keys of both images",
        _KEYS,
        "rekey=(before, after)",
        "rekey=(after,)",
        _WATCH_TESTS,
        compiled=True,
    ),
    Guard(
        "watcher: a row image without the key alters the table",
        _WATCH,
        "            self._watcher.altered(self._table)  # rows",
        "            pass  # rows",
        _WATCH_TESTS,
        compiled=True,
    ),
    Guard(
        "watcher: a version without the key's columns alters the table",
        _WATCH,
        "            self._watcher.altered(self._table)\n            return\n",
        "            return\n",
        _WATCH_TESTS,
        compiled=True,
    ),
    Guard(
        "watcher: a statement that is not understood may have altered any table",
        _WATCH,
        "            watcher.altered(None)\n",
        "",
        _WATCH_TESTS,
        compiled=True,
    ),
    Guard(
        "watcher: ALTER TABLE that takes rows of a second table may have altered any",
        _WATCH,
        "subject.tables and not moves:",
        "subject.tables:",
        _WATCH_TESTS,
        compiled=True,
    ),
    Guard(
        "watcher: what the schema history finds in a statement counts",
        "replicator/decode/transactions/transaction_events.py",
        "            self._watch.changes(known.changes)\n",
        "",
        _WATCH_TESTS,
        compiled=True,
    ),
    Guard(
        "watcher: told of table versions that come while it watches",
        "replicator/decode/plan/table_versions.py",
        "            made.watch(self._watch(made))\n",
        "            pass\n",
        _WATCH_TESTS,
        compiled=True,
    ),
    Guard(
        "watcher: told of table versions that came before it",
        "replicator/decode/plan/table_versions.py",
        "            version.watch(wrap(version) if wrap is not None else None)\n",
        "            pass\n",
        _WATCH_TESTS,
        compiled=True,
    ),
    Guard(
        "between: not where a transaction is half delivered",
        "replicator/decode/decoder.py",
        "return self._collector.settled and not self.more",
        "return self._collector.between and not self.more",
        _WATCH_TESTS,
        compiled=True,
    ),
    Guard(
        "chunk: its table is described as the stream knows it now",
        _CHUNKS,
        "version is None or version.table != table:",
        "version is None:",
        _CHUNK_TESTS,
        compiled=True,
    ),
    Guard(
        "chunk: a record of many rows is no larger than a server's event makes it",
        _CHUNKS,
        "_GROUPED_EVENT if version.plan.grouped else _EVENT",
        "_EVENT",
        _CHUNK_TESTS,
        compiled=True,
    ),
    Guard(
        "chunk: a plan that waits for a commit is refused",
        _CHUNKS,
        "            if version.deferred is not None:\n",
        "            if False:\n",
        _CHUNK_TESTS,
        compiled=True,
    ),
)
