"""A single broker of an older Kafka: 3.x in KRaft mode, 2.8 beside a ZooKeeper."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Self

from dev.errors import ServerFailed
from dev.fetch.jars import older_kafka_libs
from dev.servers.kafka import Kafka
from dev.servers.ports import ask

_LOG4J = """log4j.rootLogger={level}, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%d{{ISO8601}} %-5p %c{{1}} - %m%n
"""

_SESSION_MS = 4000
_KRAFT_SETTINGS = ("process.roles", "node.id", "controller.quorum.bootstrap.servers", "controller.listener.names")


class OlderKafka(Kafka):
    """Args:
    version: one of `dev.fetch.jars.OLDER_KAFKA`.
    zookeeper: `host:port/path`, a path that no other broker uses; "": KRaft. KRaft has transactions since 3.0.
    """

    def __init__(self, version: str, zookeeper: str = "", **options: Any) -> None:
        super().__init__(**options)
        self.version = version
        self._zookeeper = zookeeper

    def start(self) -> Self:
        """Waits until ZooKeeper has expired the session of a killed broker, which otherwise refuses to start again."""
        end = time.monotonic() + 5 * _SESSION_MS / 1000
        while not self.running and self._registered():
            if time.monotonic() > end:
                raise ServerFailed(self.name, f"is still registered at {self._zookeeper}")
            time.sleep(0.1)
        return super().start()

    def _registered(self) -> bool:
        address, _, path = self._zookeeper.partition("/")
        return (
            bool(path)
            and f"/{path}/brokers/ids/1" in ask(int(address.rpartition(":")[2]), b"dump", whole=True).decode()
        )

    def _settings(self) -> dict[str, object]:
        settings = super()._settings()
        # A broker that is started again after a kill waits until its former session has ended.
        settings |= {"broker.session.timeout.ms": _SESSION_MS, "broker.heartbeat.interval.ms": _SESSION_MS // 8}
        if self._zookeeper:
            for name in _KRAFT_SETTINGS:
                del settings[name]
            settings |= {
                "broker.id": 1,
                "zookeeper.connect": self._zookeeper,
                "zookeeper.session.timeout.ms": _SESSION_MS,
                "listeners": f"PLAINTEXT://{self.address}",
            }
        return settings

    def _format(self, tool: list[str], settings: str) -> None:
        if not self._zookeeper:
            super()._format(tool, settings)

    def _archive(self) -> list[str]:
        return []

    def _libs(self) -> Path:
        return older_kafka_libs(self.version)

    def _logging(self) -> str:
        path = self.folder / "log4j.properties"
        path.write_text(_LOG4J.format(level=self.log_level))
        return f"-Dlog4j.configuration=file:{path}"
