"""Two tasks in a row: a database -> topics -> another database."""

from __future__ import annotations

import threading
import uuid
from typing import Any

from kafka import KafkaConsumer, TopicPartition

from dev.servers import Database, Kafka
from replicator.assembly.pipeline import build_pipeline, build_source
from replicator.checkpoint.memory_store import MemoryStore
from replicator.config.load import parse_task
from replicator.config.task import TaskConfig
from replicator.errors import ReplicatorError
from replicator.model.position import Position
from replicator.model.term import Term
from replicator.pipeline.pipeline import Pipeline
from tests.support.in_memory import Unseen
from tests.support.waiting import eventually


class Between:
    """
    Attributes:
        here, there: databases of the tables, at the source and at the target.
        stored: checkpoints of the second task.
    """

    def __init__(self, source: Database, kafka: Kafka, target: Database, here: str, there: str, place: str) -> None:
        self.source, self.kafka, self.target = source, kafka, target
        self.here, self.there, self.place = here, there, place
        self.name = f"between-{uuid.uuid4().hex[:8]}"
        self.stored = MemoryStore()
        self._written = MemoryStore()
        file, offset = source.end_of_log()
        self._start = {"file": file, "position": offset}  # other tests leave XA transactions in the log, and purge it

    def both(self, *statements: str) -> None:
        for server, database in ((self.source, self.here), (self.target, self.there)):
            self.run(server, database, *statements)

    def run(self, server: Database, database: str, *statements: str) -> None:
        connection = server.connect(database=database)
        with connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
        connection.close()

    def writer(self, **sink: Any) -> TaskConfig:
        """The task that writes the topics."""
        return parse_task(
            {
                "name": self.name,
                "source": {**_server(self.source), "tables": [f"{self.here}.*"], "start": self._start},
                "sink": {"type": "kafka", "bootstrap_servers": [self.kafka.bootstrap], **sink},
                "transforms": {"rename": [{"tables": [f"{self.here}.*"], "database": self.there}]},
            }
        )

    def reader(self, source: dict[str, Any] | None = None, **sink: Any) -> TaskConfig:
        """The task that reads them."""
        given = {"type": "kafka", "bootstrap_servers": [self.kafka.bootstrap], "topics": [f"{self.name}*"]}
        return parse_task(
            {
                "name": f"{self.name}-in",
                "source": {**given, **(source or {})},
                "sink": {**_server(self.target), "position_database": self.place, **sink},
            }
        )

    def write(self, **sink: Any) -> None:
        """What the source has logged so far is in the topics afterwards."""
        config = self.writer(**sink)
        made = build_pipeline(config, term=Term.unlimited(config.name), store=self._written, observer=Unseen())
        made.run(build_source(config).end_position)
        eventually(self._shown)

    def _shown(self) -> bool:
        """Kafka answers the end of a transaction before all partitions show its records."""
        ends = []
        for level in ("read_committed", "read_uncommitted"):
            consumer = KafkaConsumer(bootstrap_servers=self.kafka.bootstrap, isolation_level=level)
            topics = [name for name in consumer.topics() if name.startswith(self.name)]
            places = [
                TopicPartition(name, part) for name in topics for part in consumer.partitions_for_topic(name) or ()
            ]
            ends.append(consumer.end_offsets(places))
            consumer.close()
        return ends[0] == ends[1]

    def pipeline(self, source: dict[str, Any] | None = None, **sink: Any) -> Pipeline:
        config = self.reader(source, **sink)
        return build_pipeline(
            config, term=Term.unlimited(config.name), store=self.stored, observer=Unseen(), save_interval=0.1
        )

    def apply(self, source: dict[str, Any] | None = None, **sink: Any) -> None:
        """What is in the topics is at the target afterwards."""
        self.pipeline(source, **sink).run(build_source(self.reader(source, **sink)).end_position)

    def rows(self, table: str, order: str = "id") -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
        """At the source and at the target."""
        return (
            self.source.execute(f"SELECT * FROM {self.here}.{table} ORDER BY {order}"),
            self.target.execute(f"SELECT * FROM {self.there}.{table} ORDER BY {order}"),
        )


class Running:
    """A pipeline in a thread of its own."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.error: ReplicatorError | None = None
        self._pipeline = pipeline
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Running:
        self._thread.start()
        eventually(lambda: self._pipeline.streaming or self.error is not None)
        return self

    def __exit__(self, *error: object) -> None:
        self._pipeline.drain()
        self._thread.join(30)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._pipeline.run()
        except ReplicatorError as error:
            self.error = error


def _server(server: Database) -> dict[str, Any]:
    kind = "mariadb" if server.release.flavour == "mariadb" else "mysql"
    return {"type": kind, "host": server.host, "port": server.port, "user": "root", "password": "env:NONE"}


def position(text: str) -> Position:
    from replicator.model.topic_offsets import parsed

    return Position.of_topics(parsed(text))
