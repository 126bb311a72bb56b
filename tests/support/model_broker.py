"""A Kafka cluster in memory that checks sequences, epochs and transactions as brokers do; bytes in, bytes out."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from crc32c import crc32c

from replicator.kafka import errors, wire
from replicator.kafka.batch import Place
from replicator.kafka.messages import (
    add_partitions,
    end_transaction,
    find_coordinator,
    init_producer_id,
    metadata,
    produce,
)
from replicator.kafka.wire import Reader

OUT_OF_ORDER, INVALID_EPOCH, INVALID_TXN_STATE = 45, 47, 48
BATCH = struct.Struct(">qiibIhiqqqhii")
MARKER = b"marker"


@dataclass
class Stored:
    """A batch in a log, or the marker of an end. open: of a transaction that has not ended."""

    producer_id: int
    epoch: int
    sequence: int
    count: int
    records: bytes
    open: bool
    committed: bool = False


@dataclass
class Producing:
    """What a partition knows of a producer. recent: first sequence and count of its last batches."""

    epoch: int
    next: int
    recent: list[tuple[int, int]] = field(default_factory=list)


@dataclass
class Log:
    stored: list[Stored] = field(default_factory=list)
    producers: dict[int, Producing] = field(default_factory=dict)


@dataclass
class Transaction:
    producer_id: int
    epoch: int
    state: str = "empty"  # empty, ongoing, committing, aborting, committed, aborted
    partitions: set[Place] = field(default_factory=set)
    second: bool = False


class ModelCluster:
    """
    Args:
        second: the cluster has transaction protocol 2.

    Attributes:
        leaders: node by partition; a test moves them.
        coordinator: node.
        refuse: asked for each batch, before it is appended: a code, or 0. refuse_after: likewise, afterwards.
        refuse_transaction: asked with the key of each request to the coordinator; refuse_partition: for each partition
            that is added to a transaction.
        slow_markers: an ended transaction waits for `write_markers`.
    """

    def __init__(self, places: list[Place], nodes: int = 2, *, second: bool = False) -> None:
        self.nodes = nodes
        self.second = second
        self.leaders = {place: number % nodes for number, place in enumerate(places)}
        self.leader_epoch = 0
        self.coordinator = 0
        self.logs = {place: Log() for place in places}
        self.transactions: dict[str, Transaction] = {}
        self.slow_markers = False
        self.refuse: Callable[[Place], int] = lambda place: 0
        self.refuse_after: Callable[[Place], int] = lambda place: 0
        self.refuse_transaction: Callable[[int], int] = lambda key: 0
        self.refuse_partition: Callable[[Place], int] = lambda place: 0
        self.throttle_ms = 0
        self._next_id = 100

    # For tests.

    def move(self, place: Place, node: int) -> None:
        self.leaders[place] = node
        self.leader_epoch += 1

    def forget(self, place: Place) -> None:
        """The partition's leader no longer knows any producer."""
        self.logs[place].producers.clear()

    def visible(self, place: Place) -> list[bytes]:
        """Records that a read_committed consumer sees."""
        found = []
        for each in self.logs[place].stored:
            if each.open:
                break
            if each.committed and each.records != MARKER:
                found.append(each.records)
        return found

    def write_markers(self) -> None:
        for transaction in self.transactions.values():
            if transaction.state in ("committing", "aborting"):
                commit = transaction.state == "committing"
                for place in transaction.partitions:
                    self._mark(place, transaction.producer_id, commit)
                transaction.partitions.clear()
                transaction.state = "committed" if commit else "aborted"

    def _mark(self, place: Place, producer_id: int, commit: bool) -> None:
        for each in self.logs[place].stored:
            if each.producer_id == producer_id and each.open:
                each.open, each.committed = False, commit

    # The protocol.

    def version(self, key: int, lowest: int, highest: int) -> int | None:
        newest = {produce.KEY: 12 if self.second else 11, end_transaction.KEY: 5 if self.second else 4}
        found = min(highest, newest.get(key, 99))
        return found if found >= lowest else None

    def answer(self, node: int, key: int, version: int, body: bytes) -> bytes:
        answers: dict[int, Callable[[int, Reader, int], bytes]] = {
            metadata.KEY: self._metadata,
            find_coordinator.KEY: self._find,
            init_producer_id.KEY: self._init,
            add_partitions.KEY: self._add,
            produce.KEY: self._produce,
            end_transaction.KEY: self._end,
        }
        reader = Reader(body)
        reply = answers[key](node, reader, version)
        assert reader.left == 0, f"{reader.left} bytes behind message {key}"
        return reply

    def _metadata(self, node: int, reader: Reader, version: int) -> bytes:
        def name() -> str:
            if version >= 10:
                reader.uuid()
            found = reader.compact_string() or ""
            reader.skip_tags()
            return found

        names = reader.array(name)
        assert not reader.boolean(), "topics are not created"
        if version <= 10:
            reader.boolean()
        reader.boolean()
        reader.skip_tags()
        brokers = b"".join(
            wire.int32(each) + wire.compact_string(f"host{each}") + wire.int32(9092) + wire.NULL + wire.NO_TAGS
            for each in range(self.nodes)
        )
        out = wire.int32(self.throttle_ms) + wire.array_length(self.nodes) + brokers + wire.NULL + wire.int32(0)
        out += wire.array_length(len(names))
        for each in names:
            numbers = [number for topic, number in self.leaders if topic == each]
            out += wire.int16(0 if numbers else 3) + wire.compact_string(each)
            out += (bytes(16) if version >= 10 else b"") + b"\0" + wire.array_length(len(numbers))
            for number in numbers:
                leader = self.leaders[each, number]
                out += wire.int16(0) + wire.int32(number) + wire.int32(leader) + wire.int32(self.leader_epoch)
                out += wire.array_length(0) * 3 + wire.NO_TAGS
            out += wire.int32(0) + wire.NO_TAGS
        if version <= 10:
            out += wire.int32(0)
        return out + (wire.int16(0) if version >= 13 else b"") + wire.NO_TAGS

    def _find(self, node: int, reader: Reader, version: int) -> bytes:
        if version >= 4:
            assert reader.int8() == 1
            (key,) = reader.array(reader.compact_string)
        else:
            key = reader.compact_string()
            assert reader.int8() == 1
        reader.skip_tags()
        code = self.refuse_transaction(find_coordinator.KEY)
        host = wire.compact_string(f"host{self.coordinator}") + wire.int32(9092)
        if version < 4:
            found = wire.int16(code) + wire.NULL + wire.int32(self.coordinator) + host + wire.NO_TAGS
            return wire.int32(0) + found
        found = wire.compact_string(key) + wire.int32(self.coordinator) + host + wire.int16(code)
        return wire.int32(0) + wire.array_length(1) + found + wire.NULL + wire.NO_TAGS + wire.NO_TAGS

    def _init(self, node: int, reader: Reader, version: int) -> bytes:
        name = reader.compact_string()
        reader.int32()
        assert (reader.int64(), reader.int16()) == (-1, -1)
        reader.skip_tags()
        code = self.refuse_transaction(init_producer_id.KEY)
        if code or (name is not None and node != self.coordinator):
            return wire.int32(0) + wire.int16(code or errors.NOT_COORDINATOR) + wire.int64(-1) + wire.int16(-1) + b"\0"
        if name is None:
            self._next_id += 1
            return wire.int32(0) + wire.int16(0) + wire.int64(self._next_id) + wire.int16(0) + wire.NO_TAGS
        found = self.transactions.get(name)
        if found is None:
            self._next_id += 1
            found = self.transactions[name] = Transaction(self._next_id, -1)
        if found.state == "ongoing":
            found.state = "aborting"
        self.write_markers()
        found.epoch, found.state = found.epoch + 1, "empty"
        return wire.int32(0) + wire.int16(0) + wire.int64(found.producer_id) + wire.int16(found.epoch) + wire.NO_TAGS

    def _transaction(self, node: int, name: str | None, producer_id: int, epoch: int, key: int) -> tuple[int, Any]:
        found = self.transactions.get(name or "")
        code = self.refuse_transaction(key)
        if code:
            return code, found
        if node != self.coordinator:
            return errors.NOT_COORDINATOR, found
        if found is None or found.producer_id != producer_id:
            return 49, found
        return (0 if found.epoch == epoch else errors.PRODUCER_FENCED), found

    def _add(self, node: int, reader: Reader, version: int) -> bytes:
        name, producer_id, epoch = reader.compact_string(), reader.int64(), reader.int16()
        places: list[Place] = []

        def topic() -> None:
            topic = reader.compact_string() or ""
            places.extend((topic, number) for number in reader.array(reader.int32))
            reader.skip_tags()

        reader.array(topic)
        reader.skip_tags()
        code, found = self._transaction(node, name, producer_id, epoch, add_partitions.KEY)
        refused = {} if code else {place: error for place in places if (error := self.refuse_partition(place))}
        if not code:
            code = errors.OPERATION_NOT_ATTEMPTED if refused else self._take_part(found, set(places))
        out = wire.int32(0) + wire.array_length(len(places))
        for topic_name, number in places:
            part = wire.int32(number) + wire.int16(refused.get((topic_name, number), code)) + wire.NO_TAGS
            out += wire.compact_string(topic_name) + wire.array_length(1) + part + wire.NO_TAGS
        return out + wire.NO_TAGS

    @staticmethod
    def _take_part(transaction: Transaction, places: set[Place]) -> int:
        if transaction.state in ("committing", "aborting"):
            return errors.CONCURRENT_TRANSACTIONS
        transaction.state = "ongoing"
        transaction.partitions |= places
        return 0

    def _end(self, node: int, reader: Reader, version: int) -> bytes:
        name, producer_id, epoch = reader.compact_string(), reader.int64(), reader.int16()
        commit = reader.boolean()
        reader.skip_tags()
        found = self.transactions[name or ""]
        wanted, done = ("committing", "committed") if commit else ("aborting", "aborted")
        repeated = version >= 5 and found.epoch == epoch + 1 and found.state in (wanted, done)
        code, _ = self._transaction(node, name, producer_id, found.epoch if repeated else epoch, end_transaction.KEY)
        if not code and not repeated:
            # The second protocol lets a producer abort what has never arrived (`noPartitionAdded`).
            nothing = version >= 5 and not commit and found.state in ("empty", "committed", "aborted")
            if found.state == "ongoing" or nothing:
                found.state = wanted
                found.epoch += version >= 5
            elif found.state == wanted:
                code = errors.CONCURRENT_TRANSACTIONS
            elif found.state != done:
                code = INVALID_TXN_STATE
        if not self.slow_markers:
            self.write_markers()
        reply = wire.int32(0) + wire.int16(code)
        return reply + (wire.int64(producer_id) + wire.int16(found.epoch) if version >= 5 else b"") + wire.NO_TAGS

    def _produce(self, node: int, reader: Reader, version: int) -> bytes:
        name, acks, _ = reader.compact_string(), reader.int16(), reader.int32()
        assert acks == -1
        written: list[tuple[Place, int]] = []

        def topic() -> None:
            topic = reader.compact_string() or ""

            def partition() -> None:
                number, data = reader.int32(), reader.compact_bytes() or b""
                reader.skip_tags()
                place = topic, number
                written.append((place, self._append(node, name, place, data, version)))

            reader.array(partition)
            reader.skip_tags()

        reader.array(topic)
        reader.skip_tags()
        out = wire.array_length(len(written))
        for (topic_name, number), code in written:
            part = wire.int32(number) + wire.int16(code) + wire.int64(-1) * 3 + wire.array_length(0) + wire.NULL
            out += wire.compact_string(topic_name) + wire.array_length(1) + part + wire.NO_TAGS + wire.NO_TAGS
        return out + wire.int32(self.throttle_ms) + wire.NO_TAGS

    def _append(self, node: int, name: str | None, place: Place, data: bytes, version: int) -> int:
        _, length, _, magic, crc, attributes, last, _, _, producer_id, epoch, sequence, count = BATCH.unpack_from(data)
        assert (magic, length, last) == (2, len(data) - 12, count - 1)
        assert crc == crc32c(data[21:])
        assert bool(attributes & 0x10) == (name is not None)
        if self.leaders[place] != node:
            return errors.NOT_LEADER_OR_FOLLOWER
        code = self.refuse(place)
        if code:
            return code
        if name is not None:
            transaction = self.transactions[name]
            if (producer_id, epoch) != (transaction.producer_id, transaction.epoch):
                return INVALID_EPOCH
            if version >= produce.SECOND_PROTOCOL:
                code = self._take_part(transaction, {place})
                if code:
                    return code
            assert transaction.state == "ongoing" and place in transaction.partitions
        return self._sequence(place, producer_id, epoch, sequence, count, data[61:], name is not None)

    def _sequence(
        self, place: Place, producer_id: int, epoch: int, sequence: int, count: int, records: bytes, open_: bool
    ) -> int:
        log = self.logs[place]
        known = log.producers.get(producer_id)
        if known is not None and epoch < known.epoch:
            return INVALID_EPOCH
        if known is not None and epoch == known.epoch:
            if (sequence, count) in known.recent:
                return self.refuse_after(place)
            if sequence < known.next and known.recent and sequence < known.recent[0][0]:
                return errors.DUPLICATE_SEQUENCE
            if sequence != known.next:
                return OUT_OF_ORDER
        elif known is not None and sequence != 0:
            return OUT_OF_ORDER
        if known is None or epoch != known.epoch:
            known = log.producers[producer_id] = Producing(epoch, sequence)
        known.next = (sequence + count) % (1 << 31)
        known.recent = [*known.recent, (sequence, count)][-5:]
        log.stored.append(Stored(producer_id, epoch, sequence, count, records, open_, committed=not open_))
        return self.refuse_after(place)
