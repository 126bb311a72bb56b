"""What happens to topics, positions and processes while rows are applied."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaProducer, TopicPartition

from dev.servers import Database, Kafka
from replicator.assembly.task_checks import check_task
from replicator.checkpoint.memory_store import MemoryStore
from replicator.errors import ReplicatorError, SourceError, SourceUnavailable
from replicator.model.position import Position
from tests.support.between import Between, Running, position
from tests.support.waiting import eventually

TABLE = "CREATE TABLE item (id INT PRIMARY KEY, v VARCHAR(40))"


def insert(between: Between, first: int, count: int) -> None:
    rows = ", ".join(f"({number}, 'v{number}')" for number in range(first, first + count))
    between.run(between.source, between.here, f"INSERT INTO item VALUES {rows}")


def topic(between: Between) -> str:
    return f"{between.name}.{between.there}.item"


def admin(between: Between) -> KafkaAdminClient:
    return KafkaAdminClient(bootstrap_servers=between.kafka.bootstrap)


def refusal(between: Between, **source: Any) -> ReplicatorError:
    with Running(between.pipeline(source)) as running:
        return eventually(lambda: running.error)


@pytest.fixture
def begun(mysql_between: Between) -> Between:
    """With three rows applied."""
    mysql_between.both(TABLE)
    insert(mysql_between, 1, 3)
    mysql_between.write()
    mysql_between.apply()
    return mysql_between


def held(between: Between) -> Position:
    found = between.stored.load()
    assert found is not None
    return found.position


def test_position_is_in_the_transaction_of_the_rows(begun: Between) -> None:
    assert f"{topic(begun)}:" in str(held(begun))
    begun.stored = MemoryStore()  # lastCommit is lost
    insert(begun, 4, 1)
    begun.write()
    begun.target.execute(f"UPDATE {begun.there}.item SET v = 'mark' WHERE id = 1")
    begun.apply()
    assert begun.target.execute(f"SELECT v FROM {begun.there}.item ORDER BY id") == [
        ("mark",),
        ("v2",),
        ("v3",),
        ("v4",),
    ]


def test_continuous(begun: Between) -> None:
    with Running(begun.pipeline()) as running:
        insert(begun, 4, 100)
        begun.write()
        eventually(lambda: begun.rows("item")[0] == begun.rows("item")[1] or running.error)
        assert running.error is None
        begun.run(begun.source, begun.here, "DELETE FROM item WHERE id < 50")
        begun.write()
        eventually(lambda: begun.rows("item")[0] == begun.rows("item")[1])


def test_aborted_transactions_are_passed_over(begun: Between) -> None:
    producer = KafkaProducer(bootstrap_servers=begun.kafka.bootstrap, transactional_id=f"{begun.name}-other")
    producer.init_transactions()
    producer.begin_transaction()
    for number in range(20):
        producer.send(topic(begun), b"no record of a row", key=b"%d" % number)
    producer.flush()
    producer.abort_transaction()
    producer.close()
    insert(begun, 4, 2)
    begun.write()
    begun.apply()
    assert begun.rows("item")[0] == begun.rows("item")[1]
    begun.apply()  # the end of the topic is reached, although the last records are not there for us


def test_topic_created_again(begun: Between) -> None:
    client = admin(begun)
    client.delete_topics([topic(begun)])
    eventually(lambda: topic(begun) not in client.list_topics())
    begun.kafka.create_topic(topic(begun))
    producer = KafkaProducer(bootstrap_servers=begun.kafka.bootstrap)
    for _ in range(30):
        producer.send(topic(begun), None, key=b"x")
    producer.close()
    client.close()
    assert refusal(begun).code == "E2344"


def test_topic_deleted(begun: Between) -> None:
    client = admin(begun)
    client.delete_topics([topic(begun)])
    client.close()
    assert refusal(begun).code == "E2343"
    assert begun.rows("item")[0] == begun.rows("item")[1]


def test_retention_passes_the_position(begun: Between) -> None:
    insert(begun, 4, 10)
    begun.write()
    client = admin(begun)
    place = TopicPartition(topic(begun), 0)
    client.delete_records({place: held(begun).topics[0].next[0] + 3})
    client.close()
    error = refusal(begun)
    assert error.code == "E2345"
    assert "records" in error.what


def test_position_after_the_end(begun: Between) -> None:
    reached = held(begun).topics[0]
    begun.target.execute(
        f"UPDATE {begun.place}.replicator_position SET position = REPLACE(position, '[{reached.next[0]}]', '[999999]')"
    )
    assert "999999" in begun.target.execute(f"SELECT position FROM {begun.place}.replicator_position")[0][0]
    begun.stored = MemoryStore()
    assert refusal(begun).code == "E2346"


def test_partitions_added(begun: Between) -> None:
    client = admin(begun)
    with Running(begun.pipeline()) as running:
        client.create_partitions({topic(begun): 3})
        eventually(lambda: running.error)
    client.close()
    assert running.error is not None
    assert running.error.code == "E2344"
    assert refusal(begun).code == "E2344"


def test_compacted_topic(begun: Between) -> None:
    begun.kafka.create_topic(f"{begun.name}-compacted", 1, **{"cleanup.policy": "compact"})
    assert refusal(begun).code == "E2355"


def test_record_elsewhere(begun: Between) -> None:
    name = f"{begun.name}-spread"
    begun.kafka.create_topic(name, partitions=2)
    producer = KafkaProducer(bootstrap_servers=begun.kafka.bootstrap)
    for partition in (0, 1):
        producer.send(name, None, key=b'{"id":1}', partition=partition)
    producer.close()
    assert refusal(begun).code == "E2354"
    begun.apply({"one_partition_per_table": True})


def test_start(begun: Between) -> None:
    def applied(start: Any) -> list[tuple[Any, ...]]:
        begun.target.execute(f"DELETE FROM {begun.there}.item")
        begun.target.execute(f"DELETE FROM {begun.place}.replicator_position")
        begun.stored = MemoryStore()
        begun.apply({"start": start, "topics": [topic(begun)]})
        return begun.target.execute(f"SELECT id FROM {begun.there}.item ORDER BY id")

    assert applied("latest") == []
    assert applied("earliest") == [(1,), (2,), (3,)]
    assert applied({"offsets": {topic(begun): [1]}}) == [(2,), (3,)]
    begun.target.execute(f"DELETE FROM {begun.place}.replicator_position")
    for offsets, code in (([1, 1], "E2353"), ([99], "E2346")):
        begun.stored = MemoryStore()
        assert refusal(begun, start={"offsets": {topic(begun): offsets}}, topics=[topic(begun)]).code == code


def test_column_missing_at_the_target(begun: Between) -> None:
    begun.run(begun.source, begun.here, "ALTER TABLE item ADD w INT", "INSERT INTO item VALUES (9, 'v9', 9)")
    begun.write()
    error = refusal(begun)
    assert error.code == "E2351"
    assert error.position.startswith(f"{topic(begun)}:0:")
    begun.target.execute(f"ALTER TABLE {begun.there}.item ADD w INT")
    begun.apply()
    assert begun.rows("item")[0] == begun.rows("item")[1]


def test_broker_away(mysql: Database, make_kafka: Callable[..., Kafka], mysql_between: Between) -> None:
    kafka = make_kafka()
    between = mysql_between
    between.kafka = kafka
    between.both(TABLE)
    insert(between, 1, 3)
    between.write()
    pipeline = between.pipeline()
    with Running(pipeline) as running:
        eventually(lambda: between.rows("item")[0] == between.rows("item")[1])
        kafka.kill()
        time.sleep(1)
        kafka.start()
        insert(between, 4, 3)
        between.write()
        eventually(lambda: between.rows("item")[0] == between.rows("item")[1] or running.error, 60)
    assert running.error is None or isinstance(running.error, SourceUnavailable)


def test_check(begun: Between, tmp_path: Any) -> None:
    def found(**source: Any) -> dict[str, str]:
        return {one.id: one.severity for one in check_task(begun.reader(source))}

    assert set(found().values()) <= {"ok", "warn"}
    assert found()["source.records"] == "ok"
    assert found(format="maxwell")["source.records"] == "fail"
    assert found(topics=["nothing"])["source.topics"] == "fail"
    assert found(bootstrap_servers=["127.0.0.1:1"])["source.reachable"] == "fail"
    begun.target.execute(f"DROP TABLE {begun.there}.item")
    assert found()["source.records"] == "fail"
    begun.target.execute(f"CREATE TABLE {begun.there}.item (id INT PRIMARY KEY, v VARCHAR(40))")


def test_drained_in_the_middle(begun: Between) -> None:
    """Stopped and started again while there is a backlog: each row is there once."""
    insert(begun, 4, 5000)
    begun.write()
    stop = threading.Event()
    while not stop.is_set():
        with Running(begun.pipeline()) as running:
            time.sleep(0.5)
        assert running.error is None
        if begun.rows("item")[0] == begun.rows("item")[1]:
            stop.set()


def test_several_topics_and_partitions(mysql_between: Between) -> None:
    between = mysql_between
    between.both(*(f"CREATE TABLE t{number} (id INT PRIMARY KEY, v INT)" for number in range(3)))
    for step in range(5):
        for number in range(3):
            between.run(
                between.source,
                between.here,
                f"INSERT INTO t{number} SELECT {step * 100} + n, {step} FROM JSON_TABLE('[1,2,3,4,5,6,7,8,9]', "
                "'$[*]' COLUMNS (n INT PATH '$')) j",
                f"UPDATE t{number} SET v = v + 1, id = id + 1000 WHERE id % 3 = {number}",
                f"DELETE FROM t{number} WHERE id % 7 = {step}",
            )
        between.write(partitions=4)
        between.apply()
        for number in range(3):
            here, there = between.rows(f"t{number}")
            assert here == there


def test_positions_of_other_kinds(begun: Between) -> None:
    from replicator.assembly.pipeline import build_source

    with pytest.raises(SourceError) as raised:
        build_source(begun.reader()).open(Position("binlog.000001", 4))
    assert raised.value.code == "E2353"
    stream = build_source(begun.reader({"topics": [topic(begun)]})).open(position(f"{topic(begun)}:0"))
    assert stream.read(5)
    stream.close()
    with pytest.raises(SourceUnavailable):
        stream.read(1)
