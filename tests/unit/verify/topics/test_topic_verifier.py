"""Rows of a source against the states of topics: planted differences, and changes that arrive meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest

from replicator.errors import ProcessError, SinkUnavailable, SourceError, SourceUnavailable
from replicator.model.position import Position
from replicator.verify.compare import KeyValue
from replicator.verify.replication import Waiter
from replicator.verify.report import TableResult
from replicator.verify.side import TableAltered
from replicator.verify.topics.columns import Columns, Values
from replicator.verify.topics.ports import SourceRow, TopicTable
from replicator.verify.topics.states import Change, Emptied
from replicator.verify.topics.verifier import TopicVerifier
from replicator.verify.verifier import Options, Wanted

NAME = ("shop", "item")
Said = tuple[int, int, Sequence[Change | Emptied]]


def row(key: int, value: object) -> Values:
    return {"id": b"%d" % key, "v": str(value).encode()}


class Bus:
    """A source, one topic, and the task between them.

    Attributes:
        moment: grows with each change at the source.
        unsent: what the topic has not got yet.
        during: called by each look at the rows of the source.
    """

    def __init__(self, partitions: int = 1) -> None:
        self.rows: dict[int, object] = {}
        self.records: list[list[list[Change | Emptied]]] = [[] for _ in range(partitions)]
        self.next = [0] * partitions
        self.moment, self.read = 0, 0
        self.unsent: list[Change] = []
        self.during: Callable[[], None] = lambda: None
        self.known, self.stuck = True, False
        self.broken: list[Exception] = []
        self.unread: list[Exception] = []
        self.unseen: list[Exception] = []
        self.lookups: list[KeyValue] = []

    def put(self, key: int, value: object, sent: object = None, place: int = 0) -> None:
        """`sent`: another value in the topic."""
        self.rows[key] = value
        self.moment += 1
        self.records[place].append([Change(*NAME, None, row(key, value if sent is None else sent))])

    def later(self, key: int, value: object | None) -> None:
        """A change that the topic gets when it is waited for."""
        self.moment += 1
        if value is None:
            self.unsent.append(Change(*NAME, row(key, self.rows.pop(key)), None))
        else:
            self.rows[key] = value
            self.unsent.append(Change(*NAME, None, row(key, value)))

    # `Replication`

    def end(self) -> Position:
        if self.unseen:
            raise self.unseen.pop(0)
        return Position("log.1", 100 + self.moment)

    def passed(self, goal: Position) -> bool | None:
        if self.stuck:
            return False
        for change in self.unsent:
            self.records[0].append([change])
        self.unsent = []
        return True if self.known else None

    # `Records`

    def following(self) -> Iterator[Said]:
        self.read += 1
        for place, records in enumerate(self.records):
            while self.next[place] < len(records):
                offset = self.next[place]
                yield place, offset, records[offset]
                if offset == 5 and self.unread:
                    raise self.unread.pop(0)
                self.next[place] += 1

    def at(self, places: Sequence[tuple[int, int]]) -> Iterator[Said]:
        for place, offset in places:
            yield place, offset, self.records[place][offset]

    # `SourceRows`

    def scan(self, table: TopicTable) -> Iterator[list[SourceRow]]:
        if self.broken:
            raise self.broken.pop(0)
        yield [self._row(key) for key in list(self.rows)]
        self.during()

    def rows_of(self, keys: Sequence[KeyValue]) -> Iterator[SourceRow]:
        for (key,) in keys:
            if int(key) in self.rows:
                yield self._row(int(key))

    def key_of(self, table: TopicTable, values: Values) -> KeyValue | None:
        return (bytes(values["id"]),) if values["id"] != b"666" else None

    def reconnect(self) -> None: ...

    def _row(self, key: int) -> SourceRow:
        return SourceRow((b"%d" % key,), row(key, self.rows[key]))


class _Rows:
    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self.scan, self.key_of, self.reconnect = bus.scan, bus.key_of, bus.reconnect

    def rows(self, table: TopicTable, keys: Sequence[KeyValue], passed: Position) -> Iterator[SourceRow]:
        self._bus.lookups += keys
        self._bus.during()
        return self._bus.rows_of(keys)


class _Unseen:
    def table(self, wanted: Wanted, number: int, count: int) -> None: ...
    def rows(self, rows: int) -> None: ...


def verify(
    bus: Bus,
    *,
    complete: bool = False,
    partitions: int = 1,
    expired: str = "",
    most_bytes: int = 1 << 20,
    max_differences: int = 100,
) -> TableResult:
    wanted = Wanted("shop.item", "shop.item", 10, 100)
    table = TopicTable(
        wanted, Columns(0, ["id", "v"], ["id"]), NAME, "t", partitions, expired=expired, complete=complete
    )
    waiter = Waiter(bus, 0.0, sleep=lambda seconds: None)
    verifier = TopicVerifier(
        _Rows(bus),
        bus,
        waiter,
        Options(max_differences=max_differences),
        _Unseen(),
        sleep=lambda seconds: None,
        most_bytes=most_bytes,
    )
    (result,) = verifier.run([table])
    return result


def counts(result: TableResult) -> tuple[str, int, int, int, int]:
    return (result.result, result.missing, result.extra, result.different, result.changing)


@pytest.mark.parametrize("most_bytes", [0, 1 << 20])
def test_planted_differences(most_bytes: int) -> None:
    bus = Bus()
    for key in range(100):
        bus.put(key, key, sent=-1 if key == 7 else None)
    bus.records[0].append([Change(*NAME, row(8, 8), None)])
    bus.records[0].append([Change(*NAME, None, row(200, 1))])
    result = verify(bus, most_bytes=most_bytes)
    assert counts(result) == ("differs", 1, 1, 1, 0)
    assert (result.rows, result.unrecorded, result.key) == (100, 0, ("id",))
    samples = {each.verdict: (each.key, each.columns) for each in result.samples}
    assert samples == {
        "missing": ({"id": "8"}, ()), "extra": ({"id": "200"}, ()), "different": ({"id": "7"}, ("v",))
    }  # fmt: skip


def test_equal_topics_are_read_once_and_wait_for_nothing() -> None:
    bus = Bus()
    bus.put(1, 1)
    bus.stuck = True
    assert counts(verify(bus)) == ("equal", 0, 0, 0, 0)
    assert bus.read == 1


def test_rows_that_the_topic_has_never_had() -> None:
    bus = Bus()
    bus.put(1, 1)
    bus.rows |= {2: 2, 3: 3}
    found = verify(bus)
    assert counts(found) == ("equal", 0, 0, 0, 0)
    assert (found.rows, found.unrecorded) == (
        1,
        2,
    ) and "2 rows of the source without a record in the topic" in found.note
    assert "the task may have begun after them" in found.note
    bus.next = [0]
    assert "expired (p0)" in verify(bus, expired="p0").note
    bus.next = [0]
    whole = verify(bus, complete=True)
    assert (counts(whole), whole.unrecorded, whole.rows) == (("differs", 2, 0, 0, 0), 0, 3)


def test_changes_that_arrive_later_are_no_differences() -> None:
    bus = Bus()
    for key in range(10):
        bus.put(key, key)

    def once() -> None:
        bus.during = lambda: None
        bus.later(1, 100)
        bus.later(2, None)
        bus.later(50, 1)

    bus.during = once
    bus.rows[3] = 30
    bus.unsent.append(Change(*NAME, None, row(3, 30)))
    assert counts(verify(bus)) == ("equal", 0, 0, 0, 0)


def test_a_row_that_changes_at_each_look_is_undecided() -> None:
    bus = Bus()
    bus.put(1, 1, sent=0)

    def change() -> None:
        bus.later(1, bus.moment)
        bus.unsent.clear()
        bus.unsent.append(Change(*NAME, None, row(1, -bus.moment)))

    bus.during = change
    assert counts(verify(bus)) == ("undecided", 0, 0, 0, 1)


def test_without_a_position_one_look_more_decides_nothing() -> None:
    """The task may be behind: a difference has to be the same in several rounds."""
    bus = Bus()
    bus.put(1, 1, sent=0)
    bus.known = False
    looks = 0

    def arrive() -> None:
        nonlocal looks
        looks += 1
        if looks == 4:
            bus.records[0].append([Change(*NAME, None, row(1, 1))])

    bus.during = arrive
    assert counts(verify(bus)) == ("equal", 0, 0, 0, 0)
    bus.put(1, 1, sent=0)
    assert counts(verify(bus)) == ("differs", 0, 0, 1, 0)


def test_a_task_that_is_behind_is_no_verdict() -> None:
    bus = Bus()
    bus.put(1, 1, sent=0)
    bus.stuck = True
    with pytest.raises(ProcessError) as raised:
        verify(bus)
    assert raised.value.code == "E5031"


def test_truncate() -> None:
    bus = Bus(partitions=2)
    bus.put(1, 1)
    bus.put(2, 2)
    bus.records[0].append([Emptied(*NAME)])
    del bus.rows[1]
    bus.put(2, 3)
    assert counts(verify(bus)) == ("equal", 0, 0, 0, 0)
    bus.next = [0, 0]
    found = verify(bus, partitions=2)
    assert found.result == "not_compared" and "TRUNCATE" in found.note


def test_records_in_several_partitions_are_undecided_if_they_differ() -> None:
    bus = Bus(partitions=2)
    bus.put(1, 1, sent=0)
    bus.put(1, 1, sent=2, place=1)
    bus.put(2, 0)
    bus.put(2, 2, place=1)
    found = verify(bus, partitions=2)
    assert counts(found) == ("undecided", 0, 0, 0, 1) and "several partitions" in found.note


def test_keys_that_cannot_be_looked_up_are_undecided() -> None:
    bus = Bus()
    bus.records[0].append([Change(*NAME, None, row(666, 1))])
    found = verify(bus)
    assert counts(found) == ("undecided", 0, 0, 0, 1) and "can't be looked up" in found.note


def test_there_are_more_differences_than_are_counted() -> None:
    bus = Bus()
    for key in range(20):
        bus.put(key, 1, sent=0)
    found = verify(bus, max_differences=5)
    assert counts(found) == ("differs", 0, 0, 5, 0) and found.stopped


@pytest.mark.parametrize(("error", "code"), [(SourceError("E2104", "hidden"), "E2104"), (TableAltered("t"), "altered")])
def test_a_table_that_cannot_be_read(error: Exception, code: str) -> None:
    bus = Bus()
    bus.put(1, 1)
    bus.broken = [error]
    found = verify(bus)
    assert found.result == "error" and code in found.note


def test_lost_connections_are_made_again() -> None:
    """Of each step; records that were read before are read again."""
    bus = Bus()
    for key in range(10):
        bus.put(key, key, sent=-1 if key == 7 else None)
    lost: list[Exception] = [SinkUnavailable("E3002", "lost"), SourceUnavailable("E2002", "lost")]
    bus.broken, bus.unread, bus.unseen = list(lost), list(lost), list(lost)
    assert counts(verify(bus)) == ("differs", 0, 0, 1, 0)
    assert not (bus.broken or bus.unread or bus.unseen)
    bus.broken, bus.next = 9 * lost, [0]
    with pytest.raises(SinkUnavailable):
        verify(bus)


def test_a_table_that_is_not_compared() -> None:
    waiter = Waiter(Bus(), 0.0)
    verifier = TopicVerifier(_Rows(Bus()), Bus(), waiter, Options(), _Unseen())
    (found,) = verifier.run([Wanted("shop.a", "shop.a", 0, 0, "no key")])
    assert (found.result, found.note) == ("not_compared", "no key")
