"""Chunks in the stream: a model of a server, its log, what its engine shows, a stream that lags behind, and several
connections that read chunks at the same time."""

from __future__ import annotations

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from replicator.model.position import Position
from replicator.pipeline.snapshot.window import LATE_S, Window, Windows

KEYS = st.integers(0, 2)
RARELY = st.integers(0, 2).map(lambda number: number == 0)
TABLE = "shop.items"


class Chunk(msgspec.Struct, eq=False):
    low: int
    high: int
    window: Window
    passed: int
    """Of the log by the stream, when the window was opened."""
    seen: dict[int, int] | None = None


class SnapshotModel(RuleBasedStateMachine):
    """Every change has a version that grows; `shown`: how many changes the engine shows, never more than are logged."""

    def __init__(self) -> None:
        super().__init__()
        self.log: list[tuple[str, int, int]] = []  # (kind, key, version)
        self.shown = 0
        self.streamed = 0
        self.emitted: list[tuple[int, int]] = []  # (key, version); a delete has a version, too
        self.windows = Windows()
        self.chunks: list[Chunk] = []
        self.done: list[tuple[int, int]] = []
        self.begun_at = 0
        self.clock = 100.0
        self.hidden: dict[
            int, float
        ] = {}  # XA transactions that the engine does not show, though it counts them as shown
        self.server = 1

    @initialize(before=st.lists(KEYS, max_size=8))
    def rows_before(self, before: list[int]) -> None:
        for key in before:
            self.log.append(("set", key, len(self.log)))
        self.shown = self.streamed = self.begun_at = len(self.log)

    def table(self, shown: int) -> dict[int, int]:
        rows: dict[int, int] = {}
        for kind, key, version in self.log[:shown]:
            if version in self.hidden:
                continue
            if kind in ("set", "late"):
                rows[key] = version
            elif kind == "delete":
                rows.pop(key, None)
            elif kind == "truncate":
                rows.clear()
        return rows

    @rule(key=KEYS, kind=st.sampled_from(["set", "set", "set", "delete"]))
    def change(self, key: int, kind: str) -> None:
        if not self.locked(key):
            self.log.append((kind, key, len(self.log)))

    def locked(self, key: int) -> bool:
        """By an XA transaction, until the engine shows it."""
        return any(self.log[version][1] == key for version in self.hidden)

    @rule(key=KEYS)
    def commit_late(self, key: int) -> None:
        """XA COMMIT."""
        if not self.locked(key):
            self.hidden[len(self.log)] = 0.0
            self.log.append(("late", key, len(self.log)))

    @rule(some=st.floats(0.1, 0.9), really=RARELY)
    def wait(self, some: float, *, really: bool) -> None:
        """Nothing is hidden for as long after the stream has passed it."""
        self.clock += some
        for version, streamed in list(self.hidden.items()):
            if really or (streamed and self.clock >= streamed + LATE_S):
                del self.hidden[version]

    @rule(really=RARELY)
    def truncate(self, really: bool) -> None:
        if really and not self.hidden:
            self.log.append(("truncate", -1, len(self.log)))

    @rule(some=st.integers(1, 4))
    def show(self, some: int) -> None:
        """The engine shows a commit only after it is in the log."""
        self.shown = min(len(self.log), self.shown + some)

    @rule()
    def begin_chunk(self) -> None:
        low, high = (0, 2) if len(self.chunks) % 2 == 0 else (1, 1)
        self.chunks.append(Chunk(low, high, self.windows.open(TABLE, self.clock), self.streamed))

    @precondition(lambda self: self.selectable)
    @rule(which=st.integers(0, 9))
    def select(self, which: int) -> None:
        """It waits until it can see what the stream had passed."""
        chunk = self.selectable[which % len(self.selectable)]
        chunk.seen = {key: v for key, v in self.table(self.shown).items() if chunk.low <= key <= chunk.high}

    @property
    def selectable(self) -> list[Chunk]:
        return [chunk for chunk in self.chunks if chunk.seen is None and chunk.passed <= self.shown]

    @precondition(lambda self: self.selected)
    @rule(which=st.integers(0, 9))
    def ask_for_the_end(self, which: int) -> None:
        self.selected[which % len(self.selected)].window.high = self.place(len(self.log))
        self.put_in()

    @property
    def selected(self) -> list[Chunk]:
        return [chunk for chunk in self.chunks if chunk.seen is not None and chunk.window.high is None]

    @precondition(lambda self: self.chunks)
    @rule(really=RARELY, which=st.integers(0, 9))
    def give_up(self, really: bool, which: int) -> None:
        """A chunk, and with it all that are behind it."""
        if really:
            at = which % len(self.chunks)
            self.abandon(self.chunks[at:])
            del self.chunks[at:]

    def abandon(self, chunks: list[Chunk]) -> None:
        for chunk in chunks:
            chunk.window.dropped = True

    @precondition(lambda self: self.streamed < len(self.log))
    @rule(some=st.integers(1, 5), opened=st.integers(0, 8))
    def stream(self, some: int, opened: int) -> None:
        """Bytes of the stream are decoded at once, and noted; then its transactions go on, one after the other.

        Args:
            opened: behind how many of them a window is opened.
        """
        self.windows.advance()
        piece = self.log[self.streamed : self.streamed + some]
        for kind, key, version in piece:
            if kind == "truncate":
                self.windows.alter(TABLE)
            else:
                self.windows.late = self.clock if kind == "late" else None
                self.windows.note(TABLE, [bytes((key,))])
                self.windows.late = None
                if version in self.hidden:
                    self.hidden[version] = self.clock
        for number, (kind, key, version) in enumerate(piece, 1):
            self.streamed += 1
            self.emitted += [(each, version) for each in range(3)] if kind == "truncate" else [(key, version)]
            self.put_in()
            if number == opened:
                self.begin_chunk()

    @rule()
    def read_nothing(self) -> None:
        self.windows.advance()

    @rule(really=RARELY)
    def fail_over(self, really: bool) -> None:
        if really:
            self.server += 1
            self.put_in()

    def place(self, offset: int) -> Position:
        return Position("log.000001", offset + 4, server=f"server{self.server}@1")

    def put_in(self) -> None:
        """Chunks are delivered in the order of their keys, in whichever they were read."""
        while self.chunks and self.windows.take(self.chunks[0].window, self.place(self.streamed)):
            chunk = self.chunks.pop(0)
            if chunk.window.stale:
                self.windows.clear()
                self.abandon(self.chunks)
                self.chunks.clear()
                return
            for key, version in (chunk.seen or {}).items():
                if bytes((key,)) not in chunk.window.noted:
                    self.emitted.append((key, version))
            self.done.append((chunk.low, chunk.high))

    @invariant()
    def no_key_goes_back(self) -> None:
        last: dict[int, int] = {}
        for key, version in self.emitted:
            assert version >= last.get(key, -1), (key, version, self.emitted)
            last[key] = version

    @invariant()
    def what_is_done_is_there(self) -> None:
        """A consumer of all that was sent has the newest version, as of the stream's place, of each key of a chunk that
        is done."""
        rows: dict[int, int] = {}
        for key, version in self.emitted:
            rows[key] = version
        truth = self.table(self.streamed)
        for low, high in self.done:
            for key in range(low, high + 1):
                if key in truth:
                    assert rows.get(key, -1) >= truth[key], (key, rows, truth)


SnapshotModel.TestCase.settings = settings(max_examples=400, stateful_step_count=40, deadline=None)
TestSnapshotModel = SnapshotModel.TestCase


def _at(offset: int, server: str = "one@1", file: str = "log.000001") -> Position:
    return Position(file, offset, server=server)


def test_keys_of_the_bytes_at_hand_count_for_a_window_that_is_opened_among_them() -> None:
    windows = Windows()
    windows.advance()
    windows.note(TABLE, [b"behind the boundary"])
    assert windows.open(TABLE).noted == {b"behind the boundary"}
    windows.advance()
    assert windows.open(TABLE).noted == set()


def test_a_statement_of_the_bytes_at_hand_counts_for_a_window_that_is_opened_before_it() -> None:
    """Rows that a TRUNCATE behind the window's beginning removes would come back."""
    windows = Windows()
    for altered in (TABLE, None):
        windows.alter(altered)
        assert windows.open(TABLE).stale
        windows.advance()
        assert not windows.open(TABLE).stale
    windows.alter("shop.other")
    assert not windows.open(TABLE).stale


def test_a_table_read_in_one_pass_keeps_its_keys() -> None:
    windows = Windows()
    windows.keep(TABLE)
    windows.note(TABLE, [b"a"])
    windows.advance()
    assert windows.open(TABLE).noted == {b"a"}
    windows.forget(TABLE)
    assert windows.open(TABLE).noted == set()


def test_changes_that_may_not_be_shown_yet_count_for_the_windows_of_the_next_moments() -> None:
    windows = Windows(most_keys=3)
    windows.late = 10.0
    windows.note(TABLE, [b"xa"])
    windows.late = None
    windows.advance()
    assert windows.open(TABLE, 10.5).noted == {b"xa"}
    assert windows.open(TABLE, 10.0 + LATE_S).noted == set()
    windows.watch("shop.other")
    assert not windows.may_open("shop.other", 10.5), "it was not watched then"
    assert windows.may_open("shop.other", 10.0 + LATE_S)
    windows.late = 20.0
    windows.note(TABLE, [b"1", b"2", b"3", b"4"])
    assert not windows.may_open(TABLE, 20.5), "they are not remembered"
    assert windows.may_open(TABLE, 20.0 + LATE_S)


def test_a_window_of_another_server_or_log_is_stale() -> None:
    for elsewhere in (_at(4, "other@1"), _at(4, file="other.000001")):
        windows = Windows()
        window = windows.open(TABLE)
        window.high = _at(100)
        assert windows.take(window, elsewhere) and window.stale


def test_windows_end_in_any_order() -> None:
    windows = Windows()
    first, second = windows.open(TABLE), windows.open(TABLE)
    first.high, second.high = _at(20), _at(8)
    assert windows.take(second, _at(8)) and not windows.take(first, _at(8))
    windows.note(TABLE, [b"a"])
    assert (first.noted, second.noted) == ({b"a"}, set())
    assert windows.take(first, _at(20))


def test_a_statement_that_alters_the_table_makes_all_of_its_windows_stale() -> None:
    windows = Windows()
    opened = [windows.open(TABLE), windows.open("shop.other"), windows.open(TABLE)]
    windows.alter(TABLE)
    assert [window.stale for window in opened] == [True, False, True]


def test_a_window_that_was_given_up_takes_no_keys() -> None:
    windows = Windows()
    first, second = windows.open(TABLE), windows.open(TABLE)
    first.dropped, second.high = True, _at(8)
    windows.note(TABLE, [b"a"])
    assert (first.noted, second.noted) == (set(), {b"a"})


def test_behind_a_fail_over_gtids_tell_whether_it_ends() -> None:
    """The position names a file of the former server, whose numbers may be higher."""
    one, two = "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-8", "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-9"
    windows = Windows()
    window = windows.open(TABLE)
    window.high = Position("log.000003", 900, two, server="new")
    assert not windows.take(window, Position("log.000009", 500, one, server="new@0"))
    assert windows.take(window, Position("log.000009", 500, two, server="new@0")) and not window.stale


def test_too_many_keys_make_what_was_read_stale() -> None:
    windows = Windows(most_keys=6)
    window = windows.open(TABLE)
    windows.note(TABLE, [b"1", b"2", b"3"])
    assert not window.stale
    windows.note(TABLE, [b"4"])
    assert window.stale and not window.noted
    windows.note(TABLE, [b"5"])
    assert windows.open(TABLE).stale, "of the same bytes"
    windows.advance()
    assert not windows.open(TABLE).stale
