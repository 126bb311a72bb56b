"""A standalone ZooKeeper; a short tick allows sessions from one second."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dev.fetch.jars import java, zookeeper_libs
from dev.servers.base import Server
from dev.servers.ports import ask

_LOGBACK = """<configuration>
  <appender name="OUT" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%d{{ISO8601}} %-5level %logger{{0}} - %msg%n</pattern></encoder>
  </appender>
  <root level="{level}"><appender-ref ref="OUT"/></root>
</configuration>
"""


class ZooKeeper(Server):
    name = "ZooKeeper"

    def __init__(
        self,
        *,
        port: int | None = None,
        fast: bool = False,
        folder: Path | None = None,
        tick_time: int = 500,
        snap_count: int | None = None,
        log_level: str = "WARN",
        peers: Mapping[int, tuple[int, int]] | None = None,
        number: int = 0,
    ) -> None:
        """`peers`: of an ensemble, its members' (quorum port, election port) by number; `number`: which one this is."""
        super().__init__(port=port, fast=fast, folder=folder)
        self.peers = dict(peers or {})
        self.number = number
        self.tick_time = tick_time
        self.snap_count = snap_count
        self.log_level = log_level

    @property
    def hosts(self) -> str:
        """The connection string, as kazoo and `replicator --zookeeper` take it."""
        return self.address

    @property
    def mode(self) -> str:
        """ "standalone", "leader", "follower", or "" while it does not serve."""
        for line in self.four_letter_word("srvr").splitlines():
            if line.startswith("Mode: "):
                return line.removeprefix("Mode: ")
        return ""

    def four_letter_word(self, word: str) -> str:
        return ask(self.port, word.encode(), whole=True).decode()

    def _prepare(self) -> None:
        (self.folder / "data").mkdir(exist_ok=True)
        (self.folder / "logback.xml").write_text(_LOGBACK.format(level=self.log_level))
        settings = self._settings()
        (self.folder / "zoo.cfg").write_text("".join(f"{key}={value}\n" for key, value in settings.items()))

    def _settings(self) -> dict[str, object]:
        """Lines of zoo.cfg."""
        settings: dict[str, object] = {
            "tickTime": self.tick_time,
            "minSessionTimeout": 2 * self.tick_time,
            "maxSessionTimeout": 60000,
            "dataDir": self.folder / "data",
            "clientPort": self.port,
            "clientPortAddress": self.host,
            "maxClientCnxns": 0,
            "admin.enableServer": "false",
            "4lw.commands.whitelist": "*",
        }
        if self.peers:
            (self.folder / "data" / "myid").write_text(str(self.number))
            settings |= {"initLimit": 20, "syncLimit": 6}
            settings |= {
                f"server.{number}": f"{self.host}:{quorum}:{election}"
                for number, (quorum, election) in self.peers.items()
            }
        return settings

    def _java_options(self) -> list[str]:
        return []

    def _command(self) -> list[str]:
        options = ["-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        if self.snap_count is not None:
            options.append(f"-Dzookeeper.snapCount={self.snap_count}")
        classes = f"{self.folder}:{zookeeper_libs()}/*"
        main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        return [java(), *options, *self._java_options(), "-cp", classes, main, str(self.folder / "zoo.cfg")]

    def _serves(self) -> bool:
        return self.four_letter_word("srvr").startswith("Zookeeper version")
