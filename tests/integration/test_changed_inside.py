"""The configuration changes while a transaction is half delivered: every row that both configurations carry arrives
once, on real servers and in both deliveries."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, Literal

import pytest

from dev.servers.database import Database, MariaDB
from replicator.assembly.pipeline import build_pipeline, build_source
from replicator.checkpoint.memory_store import MemoryStore
from replicator.config.load import parse_task
from replicator.model.position import Position
from replicator.model.quarantine import TaskOrders
from replicator.model.term import Term
from replicator.sink.memory_sink import MemoryBroker, MemorySink
from tests.support.in_memory import Unseen

pytestmark = pytest.mark.servers

ROWS = 10_000
_PART = 1 << 17


Delivery = Literal["exactly_once", "at_least_once"]


class Half(MemorySink):
    """Asks for a drain after its first commit inside a transaction."""

    drain: Any = None

    def commit(self, position: Position) -> None:
        super().commit(position)
        if position.rows and self.drain is not None:
            self.drain()


class Job:
    def __init__(self, server: Database, delivery: Delivery) -> None:
        kind = "mariadb" if isinstance(server, MariaDB) else "mysql"
        self.source = {"type": kind, "port": server.port, "user": "replicator", "password": "env:TEST_PASSWORD"}
        self.delivery, self.broker, self.store = delivery, MemoryBroker(), MemoryStore()

    def run(self, *tables: str, half: bool = False, orders: TaskOrders | None = None, **sink: Any) -> None:
        kafka = {"type": "kafka", "bootstrap_servers": ["unused:1"], "delivery": self.delivery, **sink}
        source = {**self.source, "tables": list(tables)}
        data: dict[str, Any] = {"name": "copy", "source": source, "sink": kafka, "max_transaction_bytes": _PART}
        if half:  # a commit behind whatever is written at once: by time or at a lull, there may be none before the end
            data["max_batch_bytes"] = _PART
        config = parse_task(data)
        made = Half("copy", self.broker, self.delivery)
        pipeline = build_pipeline(
            config, term=Term.unlimited("copy"), store=self.store, observer=Unseen(), sink=made, orders=orders
        )
        made.drain = pipeline.drain if half else None
        pipeline.run(build_source(config).end_position())

    def seen(self, table: str) -> list[int]:
        values = [json.loads(record.value or b"") for record in self.broker.records if record.topic.endswith(table)]
        return [value["after"]["id"] for value in values]

    @property
    def inside(self) -> bool:
        last = self.store.load()
        return last is not None and last.position.rows > 0


@pytest.fixture(params=["mysql", "mariadb"])
def shop(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[Database, str]:
    monkeypatch.setenv("TEST_PASSWORD", "replicator")
    server: Database = request.getfixturevalue(request.param)
    name: str = request.getfixturevalue("database" if request.param == "mysql" else "mariadb_database")
    for table in "ab":
        server.execute(f"CREATE TABLE {name}.{table} (id INT PRIMARY KEY, filler VARCHAR(250))")
    return server, name


def write(server: Database, name: str, *, xa: bool = False) -> None:
    """One transaction: rows of `a`, then twice as many of `b`."""
    connection = server.connect(database=name)
    with connection, connection.cursor() as cursor:
        cursor.execute("XA START 'x'" if xa else "BEGIN")
        for table in "ab":
            for first in range(0, ROWS if table == "a" else 2 * ROWS, 1000):
                values = ",".join(f"({number}, '{'x' * 250}')" for number in range(first, first + 1000))
                cursor.execute(f"INSERT INTO {table} VALUES {values}")
        for statement in ("XA END 'x'", "XA PREPARE 'x'", "XA COMMIT 'x'") if xa else ("COMMIT",):
            cursor.execute(statement)


@pytest.mark.parametrize("delivery", ["exactly_once", "at_least_once"])
@pytest.mark.parametrize("change", ["removed", "added", "metadata on", "metadata off", "xa"])
def test_rows_that_both_carry_arrive_once(shop: tuple[Database, str], delivery: Delivery, change: str) -> None:
    server, name = shop
    a, b = f"{name}.a", f"{name}.b"
    job = Job(server, delivery)
    before: tuple[tuple[str, ...], dict[str, Any]] = ((a, b), {})
    after = before
    match change:
        case "removed" | "xa":
            after = (b,), {}
        case "added":
            before = (b,), {}
        case "metadata on":
            after = (a, b), {"debezium": {"provide_transaction_metadata": True}}
        case "metadata off":
            before = (a, b), {"debezium": {"provide_transaction_metadata": True}}
    job.run(*before[0], **before[1])
    write(server, name, xa=change == "xa")
    job.run(*before[0], half=True, **before[1])
    assert job.inside, "stopped inside the transaction"
    job.run(*after[0], **after[1])
    assert not job.inside
    assert Counter(job.seen(".b")) == Counter(range(2 * ROWS)), "each row once"
    assert job.seen(".b") == sorted(job.seen(".b"))
    if change.startswith("metadata"):
        assert job.seen(".a") == list(range(ROWS))


@pytest.mark.parametrize("delivery", ["exactly_once", "at_least_once"])
@pytest.mark.parametrize("left_out", ["a", "b"])
def test_a_table_that_goes_into_quarantine_begins_the_transaction_again(
    shop: tuple[Database, str], delivery: Delivery, left_out: str
) -> None:
    """The part that was delivered comes twice (docs/limits.md); what was left out comes back as a whole."""
    server, name = shop
    a, b = f"{name}.a", f"{name}.b"
    table, rows = f"{name}.{left_out}", {"a": ROWS, "b": 2 * ROWS}
    job = Job(server, delivery)
    job.run(a, b)
    write(server, name)
    job.run(a, b, half=True)
    assert job.inside, "stopped inside the transaction"
    first = {each: len(job.seen(f".{each}")) for each in "ab"}
    assert first["a"]
    job.run(a, b, orders=TaskOrders({table: 1}))
    assert not job.inside
    for each in "ab":
        again = [] if each == left_out else list(range(rows[each]))
        assert job.seen(f".{each}") == [*range(first[each]), *again]
    last = job.store.load()
    assert last is not None
    (mark,) = last.quarantined
    job.run(a, b, orders=TaskOrders(replay={table: mark.time_ms}))
    assert job.seen(f".{left_out}") == [*range(first[left_out]), *range(rows[left_out])], "nothing of it is lost"
