"""Guards of snapshots in the pipeline: windows, order of delivery, memory, and readers at the same time."""

from __future__ import annotations

from typing import Final

from dev.mutants.guard import Guard

_WINDOW: Final = "replicator/pipeline/snapshot/window.py"
_HANDOFF: Final = "replicator/pipeline/snapshot/handoff.py"
_SESSION: Final = "replicator/pipeline/snapshot/session.py"
_SIZES: Final = "replicator/pipeline/snapshot/chunk_sizes.py"
_WINDOW_TESTS: Final = ("tests/unit/pipeline/snapshot/test_window.py",)
_SESSION_TESTS: Final = (
    "tests/unit/pipeline/snapshot/test_session.py",
    "tests/unit/pipeline/snapshot/test_ranges.py",
)
_HOLD: Final = "replicator/pipeline/snapshot/stream_hold.py"
_CONSISTENT: Final = "replicator/pipeline/snapshot/consistent_thread.py"
_CONSISTENT_TESTS: Final = ("tests/unit/pipeline/snapshot/test_consistent.py",)
_SIZES_TESTS: Final = ("tests/unit/pipeline/snapshot/test_chunk_sizes.py",)

SNAPSHOT: Final[tuple[Guard, ...]] = (
    Guard(
        "snapshot: every open window takes the keys of the stream",
        _WINDOW,
        "        for window in self._open:\n            if window.table == table and not (",
        "        for window in self._open[:1]:\n            if window.table == table and not (",
        _WINDOW_TESTS,
    ),
    Guard(
        "snapshot: a window ends behind the end of the log that was read after the SELECT",
        _WINDOW,
        "    return position.order >= high.order",
        "    return True",
        _WINDOW_TESTS,
    ),
    Guard(
        "snapshot: a statement that alters the table makes all of its windows stale",
        _WINDOW,
        "        for window in self._open:\n            if table is None",
        "        for window in self._open[:1]:\n            if table is None",
        _WINDOW_TESTS,
    ),
    Guard(
        "snapshot: a window that was opened among the bytes at hand has their keys",
        _WINDOW,
        "noted = self._recent.get(table, set()).union(",
        "noted = set[bytes]().union(",
        _WINDOW_TESTS,
    ),
    Guard(
        "snapshot: a table that is complete is read again when rows are moved into it",
        _SESSION,
        "        return not self._is_behind(name, last) or (kept",
        "        return (kept",
        _SESSION_TESTS,
    ),
    Guard(
        "snapshot: a statement that moves rows is told before any table is watched",
        "replicator/decode/transactions/table_watch.py",
        "        if moves:  # tables",
        "        if moves and watcher.tables:  # tables",
        ("tests/unit/decode/test_table_watch.py",),
    ),
    Guard(
        "snapshot: an ordered table that is renamed is read under its new name",
        "replicator/pipeline/snapshot/ordered_names.py",
        "    chosen = {now[table] if table not in sizes and now.get(table) in sizes else table for table in tables}",
        "    chosen = set(tables)",
        ("tests/unit/pipeline/snapshot/test_ordered_names.py",),
    ),
    Guard(
        "snapshot: ranges are delivered in order, whichever is read first",
        _SESSION,
        "        if not pieces or not pieces[0].ready:\n            return None\n",
        "        if not any(piece.ready for piece in pieces):\n            return None\n"
        "        while not pieces[0].ready:\n            pieces.rotate(-1)\n",
        _SESSION_TESTS,
    ),
    Guard(
        "snapshot: what is left of a range comes before the next range",
        _HANDOFF,
        "self.pieces.insert(self.pieces.index(piece) + 1, rest)",
        "self.pieces.append(rest)",
        _SESSION_TESTS,
    ),
    Guard(
        "snapshot: a range whose table has changed takes those behind it along",
        _HANDOFF,
        "                self.pieces.pop().abandon()\n            self.pieces.pop().abandon()\n",
        "                break\n            self.pieces.remove(piece)\n            piece.abandon()\n",
        _SESSION_TESTS,
    ),
    Guard(
        "snapshot: a reader of a range that is not wanted any more goes no further",
        _HANDOFF,
        "            if piece.abandoned or table is None:\n                return None\n",
        "            if table is None:\n                return None\n",
        _SESSION_TESTS,
    ),
    Guard(
        "snapshot: long rows are read one chunk at a time",
        _HANDOFF,
        "        return fits and len(read)",
        "        return len(read)",
        _SESSION_TESTS,
    ),
    Guard(
        "snapshot: chunks get smaller where the source is slow",
        _SIZES,
        "fitting = min(self._bytes * covered / max(size, 1), ",
        "fitting = max(self._bytes * covered / max(size, 1), ",
        _SIZES_TESTS,
    ),
    Guard(
        "consistent snapshot: the stream stops before the view is opened",
        _HOLD,
        "        return self.arrived or (self.stopped and self.place is None)",
        "        return self.arrived",
        _CONSISTENT_TESTS,
    ),
    Guard(
        "consistent snapshot: a stream behind the view's place is noticed",
        _HOLD,
        '        if relation in ("ahead", "unknown"):',
        '        if relation == "unknown":',
        _CONSISTENT_TESTS,
    ),
    Guard(
        "consistent snapshot: what takes over begins again",
        _CONSISTENT,
        "    begun = bool(progress.tables) and not progress.cut_open",
        "    begun = bool(progress.tables)",
        _CONSISTENT_TESTS,
    ),
)
