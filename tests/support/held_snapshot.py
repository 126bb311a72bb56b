"""A task with a snapshot whose connections to the source stop at a named step of a chunk.

The steps are the statements that the snapshot's connections send, in their order: a chunk's window is open before the
first of them, and its place in the stream is where the log ends when the last of them is answered.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Literal, TypeAlias

from dev.cluster import wait_for
from dev.errors import ServerFailed
from dev.faults.proxy import Hold, Proxy
from dev.servers.database import Database, MariaDB
from replicator.assembly.pipeline import build_pipeline
from replicator.assembly.snapshots import open_snapshot_source
from replicator.config.load import parse_task
from replicator.errors import ReplicatorError
from replicator.model.position import Position
from replicator.model.snapshot import Bound, OpenTable, SnapshotProgress
from replicator.model.term import Term
from replicator.pipeline.pipeline import Pipeline
from replicator.pipeline.ports import Chunk, ConsistentViews, SnapshotReader, SnapshotSource
from replicator.sink.memory_sink import MemorySink
from tests.integration.test_snapshots import Copy

Step: TypeAlias = Literal[
    "before the view", "before the SELECT", "during the SELECT", "before COMMIT", "before high", "before its place"
]
UNLOCKED: tuple[Step, ...] = ("before the view", "before the SELECT", "before high", "before its place")
"""Steps at which the chunk's transaction holds no lock that a statement which alters the table would wait for."""

HELD_BACK = "held back"
"""Text in a row that the stream stops at."""

_COMMIT = b"\x03COMMIT"
_MOMENT_S: Final = 0.3
_PATIENCE_S: Final = 60.0
"""On a busy machine, for a worker that takes over from one that was killed."""
_END_OF_LOG: Final = {True: b"SHOW MASTER STATUS", False: b"SHOW BINARY LOG STATUS"}
_SELECT: Final = b" ORDER BY `id` LIMIT "
_SENT: Final = {"before the view": b"START TRANSACTION", "before the SELECT": _SELECT, "during the SELECT": _SELECT}
_COLUMN: Final = b"\x02id\x02id"
"""In the description of the columns, which answers the preparation of a statement and begins its rows."""


class Gate:
    """Stops chunks at steps. Between two stops a chunk waits before COMMIT, so that no chunk is missed; the first one
    does so from the beginning.

    Args:
        server: as it is without the proxy.
        read: how many chunks were read; None, of a task in another process: a read has ended a moment after the
            answer to its last question.
    """

    def __init__(self, proxy: Proxy, server: Database, read: Callable[[], int] | None = None) -> None:
        self._proxy, self._server, self._read = proxy, server, read
        self._parked = proxy.hold_before(_COMMIT)

    @contextlib.contextmanager
    def at(self, step: Step, mark: str = "") -> Iterator[None]:
        """Waits until the next chunk is at the step; lets it go at the end.

        Args:
            mark: "before its place": a table `(id INT PRIMARY KEY, text VARCHAR(20))` for the row that the stream
                stops at.
        """
        hold = self._then(self._parked, _SENT.get(step, _COMMIT))
        if step == "during the SELECT":
            hold = self._then(self._then(hold, _COLUMN, "down"), _COLUMN, "down")
        if step == "before high":
            hold = self._then(hold, _END_OF_LOG[isinstance(self._server, MariaDB)])
        if step == "before its place":
            hold = self._stopped_stream(hold, mark)
        try:
            yield
        finally:
            self._parked = self._proxy.hold_before(_COMMIT)
            hold.release()

    def close(self) -> None:
        self._proxy.pass_()

    def _then(self, last: Hold, needle: bytes, direction: Literal["up", "down"] = "up") -> Hold:
        """The next stop. It is armed before the last one is left."""
        last.wait(_PATIENCE_S)
        hold = self._proxy.hold_before(needle, direction)
        last.release()
        hold.wait(_PATIENCE_S)
        return hold

    def _stopped_stream(self, last: Hold, mark: str) -> Hold:
        """The chunk is read, and its place is behind a row that the stream does not get."""
        stream, before = self._proxy.hold_before(HELD_BACK.encode(), "down"), self._read() if self._read else 0
        self._server.execute(f"INSERT INTO {mark} SELECT COALESCE(MIN(id), 0) - 1, '{HELD_BACK}' FROM {mark}")
        stream.wait(_PATIENCE_S)
        if self._read is None:
            self._then(last, _END_OF_LOG[isinstance(self._server, MariaDB)]).release()
            time.sleep(_MOMENT_S)
        else:
            read = self._read
            last.release()
            wait_for(lambda: read() > before, "the chunk to be read", 20, every=0.005)
        return stream


class Patient:
    """An observer that remembers what was waited for."""

    def __init__(self) -> None:
        self.waits: list[ReplicatorError] = []

    def streaming(self, position: Position) -> None: ...

    def waiting(self, error: ReplicatorError) -> None:
        self.waits.append(error)

    def progress(self, checkpoint: object, figures: object) -> None: ...


class _Counted:
    """A reader of chunks, and a source of one, that counts those that are read."""

    def __init__(self, source: SnapshotSource, copy: HeldCopy) -> None:
        self._source, self._copy = source, copy

    def open(self, server: str) -> SnapshotReader:
        reader = self._source.open(server)
        read = reader.read

        def counted(table: OpenTable, most: int, passed: Position, end: Bound | None = None) -> Chunk:
            chunk = read(table, most, passed, end)
            self._copy.chunks_read += 1
            return chunk

        reader.read = counted  # type: ignore[method-assign]
        return reader

    def open_views(self, server: str, count: int, tables: Sequence[str]) -> ConsistentViews:
        return self._source.open_views(server, count, tables)


class HeldCopy(Copy):
    """Reads `server` through `proxy`.

    Attributes:
        chunks_read: so far.
    """

    def __init__(self, server: Database, proxy: Proxy, replicated: list[str], **snapshot: Any) -> None:
        super().__init__(server, "copy", replicated, **snapshot)
        self.data["source"] |= {"port": proxy.port, "heartbeat_s": 1, "connect_timeout_s": 5}
        self.observer, self.chunks_read = Patient(), 0
        self._server, self.proxy = server, proxy

    def pipeline(self, **options: Any) -> Pipeline:
        config = parse_task(self.data)
        return build_pipeline(
            config,
            term=Term.unlimited(config.name),
            store=self.store,
            observer=self.observer,
            sink=MemorySink(config.name, self.broker),
            history=self.history,
            snapshot_source=_Counted(open_snapshot_source(config, {}), self),
            **options,
        )

    def gate(self) -> Gate:
        """To be made before it runs."""
        return Gate(self.proxy, self._server, lambda: self.chunks_read)

    @contextlib.contextmanager
    def stopped(self, until: Callable[[], object] | None = None) -> Iterator[Gate]:
        """Runs it beside the body, which stops its chunks; then to the end of the log and of the snapshot, or until
        something is true: the end that another server's log had is not one of this server's."""
        errors: list[BaseException] = []
        with self.failing(errors, until) as gate:
            yield gate
        assert not errors, errors
        if until is None:
            self.run()

    @contextlib.contextmanager
    def failing(self, errors: list[BaseException], until: Callable[[], object] | None = None) -> Iterator[Gate]:
        """Runs it once beside the body, and adds what ends it to `errors`."""
        pipeline = self.pipeline() if until is not None else None

        def run() -> None:
            try:
                if pipeline is None:
                    self.run()
                else:
                    pipeline.run()
            except BaseException as error:
                errors.append(error)

        gate = self.gate()
        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield gate
        finally:
            gate.close()
            if pipeline is not None and until is not None:
                with contextlib.suppress(ServerFailed):  # the caller sees what is missing
                    wait_for(lambda: errors or until(), "the end", 60)
                pipeline.drain()
            thread.join(90)
        assert not thread.is_alive(), "it does not end"

    @property
    def progress(self) -> SnapshotProgress:
        last = self.store.load()
        assert last is not None and last.position.snapshot is not None
        return last.position.snapshot
