"""A single Kafka broker in KRaft mode."""

from __future__ import annotations

import base64
import os
import struct
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dev.errors import ServerFailed, ServerUnavailable
from dev.fetch.jars import java, kafka_libs
from dev.fetch.once import run
from dev.servers.base import Server
from dev.servers.class_archive import archived, recording
from dev.servers.ports import ask, free_port

# Metadata version 1 for no topic: size, key, version, correlation id, client id (null), empty topic list.
_METADATA_REQUEST = struct.pack(">ihhihi", 14, 3, 1, 1, -1, 0)

_LOG4J = """status = error
rootLogger.level = {level}
rootLogger.appenderRef.out.ref = out
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d{{ISO8601}} %-5p %c{{1}} - %m%n
"""


# Compiled little and collected by one thread: half the processor time of a start, for brokers that live a minute.
_MODEST = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
# A broker that has run out of memory would hang, and each test that uses it would wait for its own time limit.
_ENDS = "-XX:+ExitOnOutOfMemoryError"
# A broker that is started again after a kill waits until its former session has ended, by default 9 s. Sooner, and yet
# no broker counts as dead that only waited for a processor.
_SOONER: Mapping[str, object] = {"broker.session.timeout.ms": 4000, "broker.heartbeat.interval.ms": 500}


def random_uuid() -> str:
    """As `kafka-storage random-uuid` makes them: 16 bytes, Base64 for URLs, not beginning with a dash."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not text.startswith("-"):
            return text


class Kafka(Server):
    """Args: modest: for tests, not for measuring: starts with half the work and is slower under load."""

    name = "Kafka"
    start_timeout = 90.0

    def __init__(
        self,
        *,
        port: int | None = None,
        fast: bool = False,
        folder: Path | None = None,
        properties: Mapping[str, object] | None = None,
        heap: str = "512m",
        log_level: str = "WARN",
        modest: bool = False,
    ) -> None:
        super().__init__(port=port, fast=fast, folder=folder)
        self.modest = modest
        self.controller_port = free_port()
        self.properties = dict(properties or {})
        self.heap = heap
        self.log_level = log_level

    @property
    def bootstrap(self) -> str:
        return self.address

    def create_topic(self, topic: str, partitions: int = 1, **configs: str) -> None:
        """Create `topic` and return when its partitions have leaders (an existing one is left as it is)."""
        from kafka.admin import KafkaAdminClient
        from kafka.errors import TopicAlreadyExistsError

        admin = KafkaAdminClient(bootstrap_servers=self.bootstrap)
        try:
            admin.create_topics({topic: {"num_partitions": partitions, "replication_factor": 1, "configs": configs}})
        except TopicAlreadyExistsError:
            return
        finally:
            admin.close()

    def _settings(self) -> dict[str, object]:
        return {
            "process.roles": "broker,controller",
            "node.id": 1,
            "controller.quorum.bootstrap.servers": f"{self.host}:{self.controller_port}",
            "listeners": f"PLAINTEXT://{self.address},CONTROLLER://{self.host}:{self.controller_port}",
            "advertised.listeners": f"PLAINTEXT://{self.address}",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": self.folder / "data",
            "auto.create.topics.enable": "false",
            "offsets.topic.replication.factor": 1,
            "offsets.topic.num.partitions": 4,
            "transaction.state.log.replication.factor": 1,
            "transaction.state.log.min.isr": 1,
            "transaction.state.log.num.partitions": 4,
            "share.coordinator.state.topic.replication.factor": 1,
            "share.coordinator.state.topic.min.isr": 1,
            "group.initial.rebalance.delay.ms": 0,
            "log.cleaner.dedupe.buffer.size": 8 * 1024 * 1024,
            **(_SOONER if self.modest else {}),
            **self.properties,
        }

    def _prepare(self) -> None:
        settings = self.folder / "server.properties"
        settings.write_text("".join(f"{key}={value}\n" for key, value in self._settings().items()))
        tool = [*self._java(*_MODEST), "kafka.tools.StorageTool"]
        self._format(tool, str(settings))

    def _format(self, tool: list[str], settings: str) -> None:
        run(self.name, [*tool, "format", "--standalone", "-t", random_uuid(), "-c", settings])

    def _java(self, *options: str) -> list[str]:
        return [java(), *self._archive(), f"-Xmx{self.heap}", self._logging(), *options, "-cp", f"{self._libs()}/*"]

    def _archive(self) -> list[str]:
        return archived(self.name, self._libs(), _record) if self.modest else []

    def _libs(self) -> Path:
        return kafka_libs()

    def _logging(self) -> str:
        """Writes the configuration of the log. Returns the option that names it."""
        path = self.folder / "log4j2.properties"
        path.write_text(_LOG4J.format(level=self.log_level))
        return f"-Dlog4j2.configurationFile={path}"

    def _command(self) -> list[str]:
        options = (_ENDS, *_MODEST) if self.modest else (_ENDS,)
        return [*self._java(*options), "kafka.Kafka", str(self.folder / "server.properties")]

    def _serves(self) -> bool:
        answer = ask(self.port, _METADATA_REQUEST)
        return len(answer) >= 12 and struct.unpack(">iii", answer[:12])[2] >= 1


class _Recorded(Kafka):
    """Writes the archive of its classes at its end."""

    def __init__(self, archive: Path) -> None:
        super().__init__(fast=True, modest=True)
        self._path = archive

    def _archive(self) -> list[str]:
        return []

    def _command(self) -> list[str]:
        program, *arguments = super()._command()
        return [program, recording(self._path), *arguments]


def _record(archive: Path) -> None:
    with _Recorded(archive) as broker:
        broker.create_topic("t")
        broker.stop(90)


class ExternalKafka(Kafka):
    """The broker of REPLICATOR_KAFKA_BOOTSTRAP: only used, never started or stopped."""

    def __init__(self, bootstrap: str) -> None:
        host, _, port = bootstrap.split(",")[0].rpartition(":")
        super().__init__(port=int(port))
        self._bootstrap = bootstrap
        self._host = host

    @property
    def bootstrap(self) -> str:
        return self._bootstrap

    @property
    def running(self) -> bool:
        return True

    def start(self) -> ExternalKafka:
        import socket

        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            try:
                socket.create_connection((self._host, self.port), timeout=2).close()
                return self
            except OSError:
                time.sleep(0.2)
        raise ServerUnavailable(self.name, f"REPLICATOR_KAFKA_BOOTSTRAP={self._bootstrap} does not answer")

    def stop(self, timeout: float = 30.0) -> None:
        """Not ours to stop."""

    def kill(self) -> None:
        raise ServerFailed(self.name, "is external and cannot be killed")


def kafka_broker(**options: Any) -> Kafka:
    """An own broker, or the external one that REPLICATOR_KAFKA_BOOTSTRAP names."""
    bootstrap = os.environ.get("REPLICATOR_KAFKA_BOOTSTRAP")
    return ExternalKafka(bootstrap) if bootstrap else Kafka(**options)
