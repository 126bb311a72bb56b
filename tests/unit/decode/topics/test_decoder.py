"""Records become batches of row images with positions."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from replicator.config.kafka_source import RecordNotation
from replicator.decode.topics import debezium, maxwell
from replicator.decode.topics.changes import Form
from replicator.decode.topics.decoder import TopicDecoder
from replicator.decode.topics.order import Order
from replicator.decode.topics.rows import TargetDefinition, Writers
from replicator.errors import DecodeError
from replicator.model import topic_frames, types
from replicator.model.batch import Batch
from replicator.model.position import Position
from replicator.model.target_table import TargetTables
from replicator.model.topic_offsets import TopicOffsets
from replicator.mysql.table_shape import ColumnShape, TableShape

ID = ColumnShape("id", types.LONG, 0, nullable=False, expression="id")
NAME = ColumnShape("Name", types.VARCHAR, 40, nullable=True, expression="name", collation=255, charset="utf8mb4")
BYTES = msgspec.structs.replace(NAME, collation=63, charset="")


def definition(*columns: ColumnShape, key: tuple[str, ...] = ("id",), **more: Any) -> TargetDefinition:
    return TargetDefinition(TableShape("shop", "item", columns or (ID, NAME)), key, **more)


def decoder(
    target: TargetDefinition | None = None, *, form: str = "debezium", partitions: int = 1, one: bool = False
) -> TopicDecoder:
    position = Position.of_topics((TopicOffsets("t", (0,) * partitions, "ff"),))
    notation = maxwell.notation if form == "maxwell" else debezium.notation_of(RecordNotation())
    writers = Writers(lambda database, table: target or definition(), notation, TargetTables())
    read = Form(maxwell.read, maxwell.key) if form == "maxwell" else Form(debezium.read, debezium.key)
    order = Order(one_partition_per_table=one)
    return TopicDecoder(position, read, writers, order, lambda database, table: table != "other")


def envelope(op: str, before: Any, after: Any, table: str = "item") -> bytes:
    return msgspec.json.encode(
        {"before": before, "after": after, "source": {"db": "shop", "table": table, "ts_ms": 5}, "op": op}
    )


def record(
    value: bytes | None, offset: int = 0, key: bytes = b'{"id":1}', partition: int = 0, topic: str = "t"
) -> bytes:
    return topic_frames.record(topic, partition, offset, key, value)


def operations(batches: list[Batch]) -> list[bytes]:
    return [bytes(one[2] or b"")[:2] for batch in batches for one in batch.records]


def fed(value: bytes | None, **options: Any) -> list[Batch]:
    return decoder(**options).feed(record(value))


def test_operations() -> None:
    row, other = {"id": 1, "Name": "x"}, {"id": 2, "Name": None}
    for op in "cr":
        assert operations(fed(envelope(op, None, row))) == [b"FI"]
    assert operations(fed(envelope("u", row, {**row, "Name": "y"}))) == [b"FI"]
    assert operations(fed(envelope("u", row, other))) == [b"FD", b"FI"]
    assert operations(fed(envelope("d", row, None))) == [b"FD"]
    (batch,) = fed(envelope("c", None, other))
    assert batch.records[0][2] == b"FI\x02\x02\x00\x00\x00"
    assert batch.records[0][3] == b"t:0:0"
    assert batch.first_ms == 5
    assert (batch.source_ms, batch.rows, batch.transactions, batch.boundary) == (5, 1, 1, True)


def test_position_is_behind_what_was_read() -> None:
    made = decoder(partitions=2)
    row = envelope("c", None, {"id": 1, "Name": "x"})
    (first,) = made.feed(record(row, 3, partition=1) + record(row, 4, partition=1))
    assert first.position == Position.of_topics((TopicOffsets("t", (0, 5), "ff"),))
    (second,) = made.feed(topic_frames.place("t", 0, 9, "ff") + topic_frames.place("u", 0, 7, "ee"))
    assert second.position == Position.of_topics((TopicOffsets("t", (9, 5), "ff"), TopicOffsets("u", (7,), "ee")))
    assert not second.records
    assert made.feed(b"") == []


def test_what_comes_before_an_error_is_delivered() -> None:
    made = decoder()
    row = envelope("c", None, {"id": 1, "Name": "x"})
    (batch,) = made.feed(record(row, 0) + record(b"{", 1) + record(row, 2))
    assert batch.position.topics[0].next == (1,)
    for call in (lambda: made.feed(b""), made.end):
        with pytest.raises(DecodeError) as raised:
            call()
        assert (raised.value.code, raised.value.position) == ("E2348", "t:0:1")


@pytest.mark.parametrize(
    "value",
    [
        None,
        b'{"ts_ms":5}',
        b'{"status":"BEGIN","id":"x","event_count":null,"data_collections":null,"ts_ms":5}',
        b'{"source":{},"ts_ms":5,"databaseName":"shop","schemaName":null,"ddl":"DROP TABLE t","tableChanges":[]}',
        envelope("c", None, {"id": 1}, table="other"),
    ],
)
def test_records_of_no_row_move_the_position(value: bytes | None) -> None:
    (batch,) = fed(value)
    assert not batch.records
    assert batch.position.topics[0].next == (1,)


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (b"\0\0\0\0\1avro", "E2348"),
        (b"[]", "E2348"),
        (b'{"id":1,"Name":"x"}', "E2348"),
        (b'{"id":1,"__deleted":"true"}', "E2348"),
        (envelope("c", None, None), "E2348"),
        (envelope("t", None, None), "E2349"),
        (envelope("m", None, None), "E2348"),
        (envelope("c", None, {"id": 1, "color": 2}), "E2351"),
        (envelope("c", None, {"id": "1"}), "E2350"),
        (envelope("c", None, {"id": None}), "E2350"),
        (envelope("c", None, {"id": 1 << 40}), "E2350"),
        (envelope("c", None, {"Name": "x"}), "E2352"),
    ],
)
def test_refused(value: bytes, code: str) -> None:
    made = decoder()
    with pytest.raises(DecodeError) as raised:
        made.feed(record(value))
    assert raised.value.code == code
    assert raised.value.position == "t:0:0"


def test_wrapped_in_schemas() -> None:
    value = b'{"schema":{},"payload":' + envelope("c", None, {"id": 1, "Name": "x"}) + b"}"
    made = decoder()
    assert operations(made.feed(record(value, key=b'{"schema":{},"payload":{"id":1}}'))) == [b"FI"]
    assert made.feed(record(b'{"schema":null,"payload":{"ts_ms":1}}', 1))[0].records == []


def test_maxwell() -> None:
    key = b'{"database":"shop","table":"item","pk.id":1}'

    def message(kind: str, data: Any, old: Any = None) -> list[bytes]:
        value = {
            "database": "shop",
            "table": "item",
            "type": kind,
            "ts": 5,
            "data": data,
            **({"old": old} if old else {}),
        }
        return operations(decoder(form="maxwell").feed(record(msgspec.json.encode(value), key=key)))

    row = {"id": 1, "Name": "x"}
    assert message("insert", row) == message("bootstrap-insert", row) == [b"FI"]
    assert message("update", row, {"Name": "y"}) == [b"FI"]
    assert message("update", row, {"id": 2}) == [b"FD", b"FI"]
    assert message("delete", row) == [b"FD"]
    assert message("bootstrap-start", {}) == message("table-alter", None) == []
    with pytest.raises(DecodeError) as raised:
        message("soft-delete", row)
    assert raised.value.code == "E2349"
    assert maxwell.key(b'["shop","item",[{"Id":1},{"b":2}]]') == {"id", "b"}


def test_keys_of_records_are_the_primary_key() -> None:
    value = envelope("c", None, {"id": 1, "Name": "x"})
    for key in (b'{"Name":"x"}', b'{"id":1,"Name":"x"}', b"null"):
        with pytest.raises(DecodeError) as raised:
            decoder().feed(record(value, key=key))
        assert raised.value.code == "E2352"
    with pytest.raises(DecodeError) as raised:
        fed(value, target=definition(key=()))
    assert raised.value.code == "E2352"
    with pytest.raises(DecodeError) as raised:
        fed(value, target=definition(cascades=("fk",)))
    assert raised.value.code == "E2352"


@pytest.mark.parametrize(
    ("target", "key"),
    [
        (definition(uniques=("name",)), b'{"id":1}'),
        (definition(key=("name",)), b'{"Name":"x"}'),
    ],
)
def test_tables_that_need_one_partition(target: TargetDefinition, key: bytes) -> None:
    """A row that takes a unique value must not come before the one that gives it up."""
    value = envelope("c", None, {"id": 1, "Name": "x"})
    assert decoder(target).feed(record(value, key=key))
    with pytest.raises(DecodeError) as raised:
        decoder(target, partitions=2).feed(record(value, key=key))
    assert raised.value.code == "E2354"
    made = decoder(target, partitions=2, one=True)
    assert made.feed(record(value, key=key))
    with pytest.raises(DecodeError) as raised:
        made.feed(record(value, key=key, partition=1))
    assert raised.value.code == "E2354"


def test_keys_of_equal_bytes_may_be_in_several_partitions() -> None:
    value = envelope("c", None, {"id": 1, "Name": "eA=="})
    target = definition(ID, BYTES, key=("name",))
    made = decoder(target, partitions=2)
    assert made.feed(record(value, key=b'{"Name":"eA=="}'))
    assert made.feed(record(value, key=b'{"Name":"eA=="}', partition=1))


def test_one_table_in_two_topics() -> None:
    value = envelope("c", None, {"id": 1, "Name": "x"})
    made = decoder()
    made.feed(record(value) + topic_frames.place("u", 0, 0, ""))
    with pytest.raises(DecodeError) as raised:
        made.feed(record(value, topic="u"))
    assert raised.value.code == "E2354"
