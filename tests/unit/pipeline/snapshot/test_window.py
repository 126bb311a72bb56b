"""Chunks in the stream: a model of a server, its log, what its engine shows, and a stream that lags behind."""

from __future__ import annotations

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from replicator.model.position import Position
from replicator.pipeline.snapshot.window import Window, Windows

KEYS = st.integers(0, 5)
TABLE = "shop.items"


class Chunk(msgspec.Struct, eq=False):
    low: int
    high: int
    window: Window
    seen: dict[int, int] | None = None


class SnapshotModel(RuleBasedStateMachine):
    """Every change has a version that grows; `shown` is how many changes the engine shows: never more than are logged."""

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
        self.server = 1

    @initialize(before=st.lists(KEYS, max_size=8))
    def rows_before(self, before: list[int]) -> None:
        for key in before:
            self.log.append(("set", key, len(self.log)))
        self.shown = self.streamed = self.begun_at = len(self.log)

    def table(self, shown: int) -> dict[int, int]:
        rows: dict[int, int] = {}
        for kind, key, version in self.log[:shown]:
            if kind == "set":
                rows[key] = version
            elif kind == "delete":
                rows.pop(key, None)
            elif kind == "truncate":
                rows.clear()
        return rows

    @rule(key=KEYS, kind=st.sampled_from(["set", "set", "set", "delete"]))
    def change(self, key: int, kind: str) -> None:
        self.log.append((kind, key, len(self.log)))

    @rule()
    def truncate(self) -> None:
        self.log.append(("truncate", -1, len(self.log)))

    @rule(some=st.integers(1, 4))
    def show(self, some: int) -> None:
        """The engine shows a commit only after it is in the log."""
        self.shown = min(len(self.log), self.shown + some)

    @rule()
    def begin_chunk(self) -> None:
        low, high = len(self.chunks) % 3 * 2, len(self.chunks) % 3 * 2 + 1
        self.chunks.append(Chunk(low, high, self.windows.open(TABLE)))

    @precondition(lambda self: any(chunk.seen is None for chunk in self.chunks))
    @rule()
    def select(self) -> None:
        chunk = next(chunk for chunk in self.chunks if chunk.seen is None)
        chunk.seen = {key: v for key, v in self.table(self.shown).items() if chunk.low <= key <= chunk.high}

    @precondition(lambda self: any(chunk.seen is not None and chunk.window.rows is None for chunk in self.chunks))
    @rule()
    def ask_for_the_end(self) -> None:
        chunk = next(chunk for chunk in self.chunks if chunk.seen is not None and chunk.window.rows is None)
        rows = [(bytes((key,)), version.to_bytes(4, "big")) for key, version in (chunk.seen or {}).items()]
        self.windows.read(chunk.window, rows, self.place(len(self.log)))
        self.put_in()

    @precondition(lambda self: self.streamed < len(self.log))
    @rule(some=st.integers(1, 5))
    def stream(self, some: int) -> None:
        for kind, key, version in self.log[self.streamed : self.streamed + some]:
            self.streamed += 1
            if kind == "truncate":
                self.windows.changed(TABLE)
                self.emitted += [(each, version) for each in range(6)]
            else:
                self.windows.note(TABLE, [bytes((key,))])
                self.emitted.append((key, version))
            self.put_in()

    @rule()
    def fail_over(self) -> None:
        self.server += 1
        self.put_in()

    def place(self, offset: int) -> Position:
        return Position("log.000001", offset + 4, server=f"server{self.server}/1")

    def put_in(self) -> None:
        for window in self.windows.due(self.place(self.streamed)):
            chunk = next(chunk for chunk in self.chunks if chunk.window is window)
            self.chunks.remove(chunk)
            if window.stale:
                continue
            keys = {image: key[0] for key, image in window.rows or ()}
            for image in window.left:
                self.emitted.append((keys[image], int.from_bytes(image, "big")))
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


SnapshotModel.TestCase.settings = settings(max_examples=300, stateful_step_count=40, deadline=None)
TestSnapshotModel = SnapshotModel.TestCase
