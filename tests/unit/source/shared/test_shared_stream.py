"""A stream that goes over to a relay's gives every byte of the log once, whoever joins, falls behind or ends when."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from typing import Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from replicator.errors import ReplicatorError, SessionRenewed, SourceUnavailable
from replicator.model.position import Position
from replicator.source.binlog_layout import HEADER, packets, split_events
from replicator.source.memory_source import MemoryStream
from replicator.source.shared import stream as shared_stream
from replicator.source.shared.event_walk import _rotated
from replicator.source.shared.feed import Feed, NoFeed
from replicator.source.shared.relay import Relay
from replicator.source.shared.stream import SharedStream
from replicator.source.shared.terms import Terms
from tests.support.binlog_writer import Column, MemoryBinlog, TableSpec
from tests.support.waiting import eventually

KEY = "k"
WIDE = TableSpec("shop", "wide", (Column("id", 3, nullable=False), Column("text", 15, length=60_000)))
ROTATE, DESCRIPTION, XID, PREVIOUS_GTIDS = 4, 15, 16, 35


class Own(MemoryStream):
    """Reads end anywhere, as those of a socket do: after `piece` bytes."""

    silence = 5.0
    piece = 1 << 20
    held = b""

    def read(self, timeout: float) -> bytes:
        data = self.held or super().read(timeout)
        data, self.held = data[: self.piece], data[self.piece :]
        return data


class Rig:
    """A server in memory, relays of its log, and readers, each of which collects the events that it is given."""

    def __init__(self, size: int = 1 << 16, piece: int = 1 << 20) -> None:
        self.binlog = MemoryBinlog()
        self.size, self.piece = size, piece
        self.name = ""
        self.rows = 0
        self.relays: list[Relay] = []
        self.threads: list[threading.Thread] = []

    def commit(self, width: int = 10) -> None:
        self.rows += 1
        self.insert((self.rows, "x" * width))

    def insert(self, *rows: tuple[int, str]) -> None:
        self.binlog.insert(*rows, table=WIDE)

    def own(self, position: Position) -> Own:
        stream = self.binlog.server.connect(position)
        stream.__class__ = Own
        assert isinstance(stream, Own)
        stream.piece = self.piece
        return stream

    def relay(self) -> Relay:
        self.name = f"test-{secrets.token_hex(8)}"
        relay = Relay(self.own(self.binlog.server.end()), self.name, KEY, self.size, linger=30)
        self.relays.append(relay)
        self.threads.append(threading.Thread(target=self._run, args=(relay,), daemon=True))
        self.threads[-1].start()
        return relay

    @staticmethod
    def _run(relay: Relay) -> None:
        try:
            relay.run()
        except SourceUnavailable:
            return

    def reader(self, position: Position | None = None) -> Reading:
        return Reading(self, position or self.binlog.server.start())

    def end_relay(self) -> None:
        relay = self.relays.pop()
        relay._over = True  # it may be waiting for its readers
        relay._stream.close()
        self.threads.pop().join(5)

    def close(self) -> None:
        while self.relays:
            self.end_relay()


class Reading:
    """Reads as a task does: a session that ends begins again behind the last transaction that was complete."""

    def __init__(self, rig: Rig, position: Position) -> None:
        self.rig = rig
        self.left: list[tuple[str, bool]] = []
        self.sessions = 0
        self.log: dict[str, bytearray] = {}
        self.place = position
        self._open()

    def _open(self) -> None:
        self.sessions += 1
        end = self.rig.binlog.server.end()
        terms = Terms(KEY, "here", "", end.file, end.offset)
        own = self.rig.own(self.place)
        self.stream = SharedStream(own, terms, lambda _: self.rig.name, lambda *why: self.left.append(why))
        self._raw = b""
        self._file = self.place.file
        self._begun: list[bytes] = []

    def turn(self) -> bool:
        """One read. False: nothing came."""
        try:
            data = self.stream.read(0.002)
        except SessionRenewed:
            self._open()
            return True
        self._raw += data
        while (event := self._event()) is not None:
            self._seen(event)
        return bool(data)

    def _event(self) -> bytes | None:
        length = int.from_bytes(self._raw[:3], "little")
        if len(self._raw) < 4 or len(self._raw) < 4 + length:
            return None
        event, self._raw = self._raw[5 : 4 + length], self._raw[4 + length :]
        return event

    def _seen(self, event: bytes) -> None:
        kind, end = event[4], int.from_bytes(event[13:17], "little")
        if not end:
            if kind == ROTATE:
                self._file = _rotated(event)[0]
            return
        self._begun.append(event)
        if kind in (XID, ROTATE, DESCRIPTION, PREVIOUS_GTIDS):
            self.log.setdefault(self._file, bytearray()).extend(b"".join(self._begun))
            self._begun = []
            self.place = Position(self._file, end)

    def drain(self) -> None:
        while self.turn():
            pass

    def reach(self) -> None:
        """Reads up to the end of the log."""

        def there() -> bool:
            self.turn()
            end = self.rig.binlog.server.end()
            return (self.place.file, self.place.offset) == (end.file, end.offset)

        eventually(there)

    def complete(self) -> None:
        """Nothing of the log is missing, doubled or in another order."""
        self.reach()
        wanted = {name: content[HEADER:] for name, content in self.rig.binlog.server.files().items()}
        assert {name: bytes(content) for name, content in self.log.items()} == wanted

    def join(self) -> None:
        def joined() -> bool:
            self.drain()
            return self.stream.joined

        eventually(joined)


@pytest.fixture
def rig(monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    monkeypatch.setattr(shared_stream, "_TRY_SECONDS", 0.0)
    monkeypatch.setattr(shared_stream, "_AGAIN_SECONDS", 0.0)
    rig = Rig()
    yield rig
    rig.close()


def test_a_stream_goes_over_when_it_has_caught_up(rig):
    for _ in range(50):
        rig.commit()
    rig.relay()
    reading = rig.reader()
    reading.join()
    rig.commit()
    rig.binlog.rotate()
    rig.commit()
    reading.complete()
    assert reading.sessions == 1 and not reading.left
    assert len(rig.binlog.server._open) == 1  # the server is read once


def test_nothing_is_shared_before_everything_that_was_executed_is_read(rig):
    """A set of executed transactions may name some behind this place: the ring would give them again."""
    rig.relay()
    reading = rig.reader()
    end = rig.binlog.server.end()
    reading.stream._terms = Terms(KEY, "here", "", end.file, end.offset + 1)
    reading.drain()
    assert not reading.stream.joined
    rig.commit()
    reading.join()
    reading.complete()


def test_who_is_overtaken_reads_on_with_a_connection_of_its_own_and_comes_back(rig):
    rig.relay()
    slow, quick = rig.reader(), rig.reader()
    slow.join()
    quick.join()
    for _ in range(40):
        rig.commit(4000)
    quick.reach()
    slow.turn()
    assert slow.sessions == 2
    assert slow.left == [("the task is too slow for the shared stream", True)]
    slow.join()
    slow.complete()
    quick.complete()
    assert quick.sessions == 1


def test_a_relay_that_ends_is_left_without_loss(rig):
    rig.relay()
    readings = [rig.reader() for _ in range(3)]
    for reading in readings:
        reading.join()
    rig.commit()
    rig.end_relay()
    rig.commit()
    for reading in readings:
        while reading.sessions == 1:
            reading.turn()
        reading.complete()
    rig.relay()
    rig.commit()
    readings[0].join()
    readings[0].complete()


def test_one_transaction_longer_than_the_ring_passes(rig):
    rig.relay()
    reading = rig.reader()
    reading.join()
    rig.insert(*((number, "x" * 1000) for number in range(200)))
    for _ in range(3):
        rig.insert(*((number, "y" * 30_000) for number in range(9)))
    reading.complete()
    assert reading.sessions == 1


def test_a_stream_goes_over_between_the_places_that_the_relay_has_noted(rig):
    """Thirty transactions came in one read of the relay: it knows where the last of them ends, and none between."""
    relay = rig.relay()
    ends = []
    with rig.binlog.server.changed:
        for _ in range(30):
            rig.commit()
            ends.append(rig.binlog.server.end().offset)
    eventually(lambda: relay._places and relay._places[-1][2] == ends[-1])
    assert not {place[2] for place in relay._places} & set(ends[:-1])
    for end in ends:
        feed = Feed(rig.name, KEY)
        assert feed.join(rig.binlog.server.name, end, rig.binlog.writer.timestamp)
        wanted = [packets(event) for event in split_events(bytes(rig.binlog.server.file[end:]))]
        assert feed.read(1 << 20) == b"".join(wanted)
        feed.shut()


class Scripted:
    """A dump whose reads are given."""

    framing: Literal["packet", "file"] = "packet"
    position = Position("binlog.000001", 4)

    def __init__(self, *reads: bytes) -> None:
        self._reads = list(reads)

    def read(self, timeout: float) -> bytes:
        if not self._reads:
            raise SourceUnavailable("E2002", "the end of the script")
        return self._reads.pop(0)

    def server_error(self, errno: int, sqlstate: str, message: str) -> ReplicatorError:
        raise NotImplementedError

    def close(self) -> None:
        return


def test_an_error_of_the_server_is_not_passed_on():
    """Each task is to have its own, from its own connection."""
    binlog = MemoryBinlog()
    good = binlog.server.connect(binlog.server.start()).read(0)
    error = b"\x09\0\0\x07\xff\xd4\x04#HY000x"
    name = f"test-{secrets.token_hex(8)}"
    relay = Relay(Scripted(b"", good, error[:6], error[6:]), name, KEY, 1 << 16)
    with pytest.raises(SourceUnavailable):
        relay.run()
    assert relay._writer._words[0] == len(good)  # what readers may read


def test_a_relay_of_another_stream_is_refused(rig):
    rig.relay()
    with pytest.raises(NoFeed):
        Feed(rig.name, "another key")
    with pytest.raises(NoFeed):
        Feed("nobody-has-this-name", KEY)


def test_a_file_of_the_same_name_is_not_taken_for_the_one_before_a_reset(rig):
    rig.relay()
    feed, end, created = Feed(rig.name, KEY), rig.binlog.server.end(), rig.binlog.writer.timestamp
    assert not feed.join(end.file, end.offset, created - 60)
    assert feed.join(end.file, end.offset, created)
    feed.shut()


def test_the_writer_does_not_wait_for_a_reader_that_could_not_join(rig):
    relay = rig.relay()
    eventually(lambda: relay._places)
    end = rig.binlog.server.end()
    rig.commit()
    eventually(lambda: relay._places[-1][2] > end.offset)
    feed = Feed(rig.name, KEY)
    assert not feed.join(end.file, end.offset + 1, rig.binlog.writer.timestamp)  # no event ends there
    assert relay._writer.cursors([0]) == []
    feed.shut()


def test_without_readers_a_relay_ends(rig):
    relay = Relay(rig.own(rig.binlog.server.end()), "test-" + secrets.token_hex(8), KEY, 1 << 16, linger=0.1)
    thread = threading.Thread(target=relay.run)
    thread.start()
    thread.join(20)
    assert not thread.is_alive()


Steps = st.lists(
    st.one_of(
        st.tuples(st.just("commit"), st.integers(1, 9000)),
        st.tuples(st.just("read"), st.integers(0, 2)),
        st.tuples(st.just("drain"), st.integers(0, 2)),
        st.tuples(st.sampled_from(["rotate", "relay", "new relay"]), st.just(0)),
    ),
    max_size=60,
)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=Steps, piece=st.sampled_from([50, 313, 4099, 1 << 20]))
def test_every_reader_gets_the_whole_log_whatever_happens(monkeypatch, steps, piece):
    monkeypatch.setattr(shared_stream, "_TRY_SECONDS", 0.0)
    monkeypatch.setattr(shared_stream, "_AGAIN_SECONDS", 0.0)
    rig = Rig(piece=piece)
    try:
        rig.relay()
        readings = [rig.reader() for _ in range(3)]
        for step, number in steps:
            if step == "commit":
                rig.commit(number)
            elif step == "read":
                readings[number].turn()
            elif step == "drain":
                readings[number].drain()
            elif step == "rotate":
                rig.binlog.rotate()
            else:
                if rig.relays:
                    rig.end_relay()
                if step == "new relay":
                    rig.relay()
        for reading in readings:
            reading.complete()
    finally:
        rig.close()
