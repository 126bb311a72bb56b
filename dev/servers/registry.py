"""A schema registry with Confluent's HTTP interface: Apicurio Registry, its data in a file of its own."""

from __future__ import annotations

import httpx

from dev import plain_http
from dev.fetch.jars import java, registry_libs
from dev.servers.base import Server


class Registry(Server):
    name = "Registry"

    @property
    def url(self) -> str:
        """Where Confluent's interface is."""
        return f"http://{self.address}/apis/ccompat/v7"

    def _prepare(self) -> None:
        """The database makes itself."""

    def _command(self) -> list[str]:
        settings = {
            "quarkus.http.host": self.host,
            "quarkus.http.port": self.port,
            "quarkus.log.level": "WARN",
            "apicurio.datasource.url": f"jdbc:h2:file:{self.folder}/registry",
        }
        folder = registry_libs()
        jar = next(folder.glob("apicurio-registry-app-*-runner.jar"))
        options = [f"-D{key}={value}" for key, value in settings.items()]
        quick = ["-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        return [java(), *quick, *options, "-cp", f"{jar}:{folder}/lib/*", "io.quarkus.runner.GeneratedMain"]

    def _serves(self) -> bool:
        try:
            return plain_http.get(f"{self.url}/subjects", timeout=2).is_success
        except httpx.TransportError:
            return False
