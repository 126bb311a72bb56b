"""What the pipeline relies on, for every source: memory twin, recorded files, MySQL and MariaDB."""

from __future__ import annotations

import abc
import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec
import pytest

from dev.cluster import wait_for
from dev.servers.database import Database
from replicator.config.task import MySQLSource as Config
from replicator.decode.decoder import BinlogDecoder
from replicator.errors import ReplicatorError, SourceError, SourceUnavailable
from replicator.model.position import Position
from replicator.pipeline.ports import Source, Stream
from replicator.source.memory_source import MemorySource
from replicator.source.mysql import MySQLSource
from replicator.source.recorded_source import RecordedSource
from tests.support.binlog_reader import ARTIFICIAL, GTIDS, Event, Walker
from tests.support.binlog_writer import MemoryBinlog
from tests.support.binlogs import purge_all_but_last

QUERY, XID, ROTATE, FORMAT_DESCRIPTION = 2, 16, 4, 15


Start = Literal["latest", "earliest"]


class Rig(abc.ABC):
    """A source and the means to make things happen at its server."""

    flavour: Literal["mysql", "mariadb"] = "mysql"

    @abc.abstractmethod
    def source(self, start: Start = "earliest") -> Source: ...

    @abc.abstractmethod
    def commit(self) -> None:
        """One more transaction of one row."""

    @abc.abstractmethod
    def rotate(self) -> None: ...

    @abc.abstractmethod
    def purge(self) -> None:
        """Deletes every file but the last."""

    @abc.abstractmethod
    def disconnect(self) -> None: ...


class Memory(Rig):
    def __init__(self) -> None:
        self.binlog = MemoryBinlog()
        self.rows = 0

    def source(self, start: Start = "earliest") -> Source:
        return MemorySource(self.binlog.server, start)

    def commit(self) -> None:
        self.rows += 1
        self.binlog.insert((self.rows, f"row {self.rows}"))

    def rotate(self) -> None:
        self.binlog.rotate()

    def purge(self) -> None:
        self.binlog.server.purge(self.binlog.server.name)

    def disconnect(self) -> None:
        self.binlog.server.disconnect()


class Recorded(Memory):
    """The memory server's files, written out each time a source is made."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder

    def source(self, start: Start = "earliest") -> Source:
        paths = []
        for name, content in self.binlog.server.files().items():
            paths.append(self.folder / name)
            paths[-1].write_bytes(content)
        recorded = RecordedSource(paths)
        return RecordedSource(paths, recorded.end_position()) if start == "latest" else recorded


class Real(Rig):
    def __init__(self, server: Database) -> None:
        self.server, self.flavour = server, server.release.flavour
        server.execute("CREATE DATABASE IF NOT EXISTS conformance")
        server.execute("CREATE TABLE IF NOT EXISTS conformance.t (id INT AUTO_INCREMENT PRIMARY KEY, v INT)")

    def source(self, start: Start = "earliest") -> Source:
        user, password = self.server.replicator
        config = Config.model_validate(
            {"type": self.flavour, "port": self.server.port, "user": user, "password": "env:X", "start": start}
            | {"heartbeat_s": 2}
        )
        return MySQLSource(config, "conformance", password)

    def commit(self) -> None:
        self.server.execute("INSERT INTO conformance.t (v) VALUES (1)")

    def rotate(self) -> None:
        self.server.execute("FLUSH BINARY LOGS")
        if self.flavour == "mariadb":
            wait_for(self._has_checkpoint, "the new file's checkpoint event", 30)

    def _has_checkpoint(self) -> bool:
        """MariaDB's background thread writes it when it gets to it, also behind transactions that came meanwhile: what
        was the end of the log is not the end any more."""
        file, _ = self.server.end_of_log()
        events = self.server.execute(f"SHOW BINLOG EVENTS IN '{file}'")
        return any(event[2] == "Binlog_checkpoint" and event[5] == file for event in events)

    def purge(self) -> None:
        self.disconnect()
        purge_all_but_last(self.server)

    def disconnect(self) -> None:
        rows = self.server.execute("SELECT id FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'")
        for (thread,) in rows:
            with contextlib.suppress(Exception):
                self.server.execute(f"KILL {thread}")


def make_rig(request: pytest.FixtureRequest, tmp_path: Path) -> Rig:
    if request.param == "memory":
        return Memory()
    if request.param == "recorded":
        return Recorded(tmp_path)
    made = Real(request.getfixturevalue(request.param))
    made.purge()
    return made


rig = pytest.fixture(params=["memory", "recorded", "mysql", "mariadb"], name="rig")(make_rig)
live = pytest.fixture(params=["memory", "mysql", "mariadb"], name="live")(make_rig)  # a recording does not wait


@contextlib.contextmanager
def opened(source: Source, position: Position | None = None) -> Iterator[Stream]:
    stream = source.open(position or source.start_position())
    try:
        yield stream
    finally:
        stream.close()


def events(stream: Stream, least: int = 0) -> list[Event]:
    """All that comes until it is quiet, with `least` transactions, or, with a recording, ends."""
    found: list[Event] = []
    with contextlib.suppress(SourceUnavailable):
        found.extend(Walker(stream, least=least))
    return found


def count(source: Source, position: Position | None = None, least: int = 0) -> int:
    """Transactions that a stream from `position` brings."""
    with opened(source, position) as stream:
        return sum(event.type == XID for event in events(stream, least))


def test_earliest_brings_every_transaction(rig: Rig) -> None:
    before = count(rig.source())
    for _ in range(3):
        rig.commit()
    assert count(rig.source(), least=before + 3) == before + 3


def test_the_stream_says_where_it_begins(rig: Rig) -> None:
    rig.commit()
    source = rig.source()
    start = source.start_position()
    with opened(source, start) as stream:
        first, second, *_ = events(stream, least=1)
        assert stream.position == start
    assert (first.type, first.flags & ARTIFICIAL, first.file) == (ROTATE, ARTIFICIAL, start.file)
    assert int.from_bytes(first.body[:8], "little") == start.offset
    assert second.type == FORMAT_DESCRIPTION


def test_latest_brings_only_what_comes_later(rig: Rig) -> None:
    rig.commit()
    position = rig.source("latest").start_position()
    assert count(rig.source(), position) == 0
    rig.commit()
    assert count(rig.source(), position, 1) == 1


def test_a_stream_resumes_at_every_position_that_was_given(rig: Rig) -> None:
    positions = [rig.source().end_position()]
    for _ in range(4):
        rig.commit()
        positions.append(rig.source().end_position())
        if len(positions) == 3:
            rig.rotate()
    found = [count(rig.source(), position, 4 - number) for number, position in enumerate(positions)]
    assert found == [4, 3, 2, 1, 0]
    assert [position.order for position in positions] == sorted({position.order for position in positions})


def test_what_follows_the_prelude_is_the_start_of_a_transaction(rig: Rig) -> None:
    rig.commit()
    position = rig.source().end_position()
    rig.commit()
    with opened(rig.source(), position) as stream:
        found = events(stream, least=1)
    row_bearing = {19, 23, 24, 25, 30, 31, 32}
    first = next(event for event in found if event.type in GTIDS | row_bearing | {XID, QUERY})
    assert first.type in GTIDS or first.body.endswith(b"BEGIN")  # MySQL before 5.7, without GTIDs


def test_end_position_moves_with_each_transaction(rig: Rig) -> None:
    first = rig.source().end_position()
    assert rig.source().end_position() == first
    rig.commit()
    assert rig.source().end_position().order > first.order
    start = msgspec.structs.replace(rig.source("latest").start_position(), server="")
    assert start == rig.source().end_position(), "which is for comparing, and names no server"


def test_what_is_observed_is_the_end_of_the_log_and_the_clock(rig: Rig) -> None:
    """All are on this host, so the clocks agree."""
    rig.commit()
    seen = rig.source().observe()
    assert seen.position == rig.source().end_position()
    assert seen.skew_ms is None or abs(seen.skew_ms) < 2_000


def test_a_rotated_log_goes_on(rig: Rig) -> None:
    position = rig.source().end_position()
    rig.commit()
    rig.rotate()
    rig.commit()
    with opened(rig.source(), position) as stream:
        found = events(stream, least=2)
    files = [event.file for event in found if event.type == XID]
    assert len(files) == 2
    assert files[0] != files[1]


def test_a_stream_follows_what_is_committed_while_it_is_open(live: Rig) -> None:
    with opened(live.source(), live.source().end_position()) as stream:
        assert sum(event.type == XID for event in events(stream)) == 0
        live.commit()
        assert sum(event.type == XID for event in events(stream, least=1)) == 1
        live.rotate()
        live.commit()
        assert sum(event.type == XID for event in events(stream, least=1)) == 1


def test_a_read_ends_after_its_timeout(live: Rig) -> None:
    with opened(live.source(), live.source().end_position()) as stream:
        while stream.read(0.6):  # what the server sends at the beginning; the first heartbeat is due after 2 s
            pass
        began = time.monotonic()
        assert stream.read(0.2) == b""
        assert 0.15 < time.monotonic() - began < 2


def test_close_ends_a_read_from_another_thread(live: Rig) -> None:
    stream = live.source().open(live.source().end_position())
    ended: list[BaseException] = []

    def read() -> None:
        try:
            while True:
                stream.read(30)
        except BaseException as error:
            ended.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    time.sleep(0.2)
    stream.close()
    reader.join(20)  # of the 30 that the read would wait
    assert not reader.is_alive()
    assert isinstance(ended[0], SourceUnavailable)


def test_a_closed_stream_can_not_be_read_and_can_be_closed_again(rig: Rig) -> None:
    stream = rig.source().open(rig.source().start_position())
    stream.close()
    stream.close()
    with pytest.raises(SourceUnavailable):
        stream.read(0)


def test_a_connection_that_is_cut_is_a_transient_error(live: Rig) -> None:
    live.commit()
    position = live.source().end_position()
    with opened(live.source(), position) as stream:
        list(Walker(stream))
        live.disconnect()
        with pytest.raises((ReplicatorError, AssertionError)) as raised:  # some servers say good-bye with an EOF packet
            list(Walker(stream, quiet=10))
    if isinstance(raised.value, ReplicatorError):
        assert raised.value.transient
    live.commit()
    assert count(live.source(), position, 1) == 1


def test_a_purged_position_is_refused(rig: Rig) -> None:
    rig.commit()
    position = rig.source().start_position()
    rig.commit()
    rig.rotate()
    rig.purge()
    with pytest.raises(SourceError) as raised:
        rig.source().open(position)
    assert raised.value.code == "E2206"
    assert not raised.value.transient


def test_a_position_inside_a_transaction_is_refused(rig: Rig) -> None:
    end = rig.source().end_position()
    rig.commit()
    with opened(rig.source(), end) as stream:
        first = next(event for event in Walker(stream, least=1) if event.type in GTIDS | {QUERY})
    with pytest.raises(SourceError) as raised:
        rig.source().open(Position(end.file, first.end))
    assert raised.value.code == "E2209"


@pytest.mark.parametrize(
    "position", [Position("binlog.999999", 4), Position("", 0), Position("binlog.000001", 1 << 31)]
)
def test_a_position_that_the_server_never_had_is_refused(rig: Rig, position: Position) -> None:
    with pytest.raises(SourceError) as raised:
        rig.source().open(position)
    assert raised.value.code in ("E2206", "E2209")


def test_an_error_packet_becomes_an_error_for_people(rig: Rig) -> None:
    with opened(rig.source()) as stream:
        error = stream.server_error(1105, "HY000", "something else")
    assert error.code == "E2211"
    assert "something else" in str(error)


def decode(
    source: Source, position: Position, flavour: Literal["mysql", "mariadb"], end: Position
) -> tuple[Position, list[Position]]:
    """From `position` on through the decoder, which carries no table here, until `end`; where it then stands, and the
    boundaries on the way. A server that looks for a GTID says where it stands with its first heartbeat only."""
    with opened(source, position) as stream:
        decoder = BinlogDecoder(
            lambda table: None,
            position=position,
            flavor=flavour,
            framing=stream.framing,
            server_error=stream.server_error,
        )
        found = [position]
        deadline = time.monotonic() + 20
        with contextlib.suppress(SourceUnavailable):  # the end of a recording
            while (decoder.position.order != end.order or len(found) == 1) and time.monotonic() < deadline:
                found += [batch.position for batch in decoder.feed(stream.read(0.1)) if batch.boundary]
    return decoder.position, found


def test_the_decoder_arrives_where_the_source_says_its_end_is(rig: Rig) -> None:
    """With the same GTID set, from every position on the way."""
    marks = [rig.source().end_position()]
    for number in range(3):
        rig.commit()
        marks.append(rig.source().end_position())
        if number == 1:
            rig.rotate()
    end = marks[-1]
    for mark in marks[:-1]:
        reached, boundaries = decode(rig.source(), mark, rig.flavour, end)
        assert (reached.file, reached.offset) == (end.file, end.offset)
        assert isinstance(rig, Recorded) or reached.gtid == end.gtid  # files do not say what a server has executed
        for position in boundaries[1:-1]:
            again, _ = decode(rig.source(), position, rig.flavour, end)
            assert again == reached
