"""Parts of a support bundle that a Server has, with the rights of a login."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from replicator.cli.bundle.parts import ProcessLine
from replicator.cli.task.client import Client
from replicator.errors import ProcessError

_MOST_EVENTS: Final = 200


class ServerParts:
    def __init__(self, client: Client) -> None:
        self._client = client

    def names(self) -> list[str]:
        return [str(item["name"]) for item in self._client.tasks()["items"]]

    def machines(self) -> Any:
        return self._client.machines()

    def task(self, name: str) -> Any:
        return {key: value for key, value in self._client.task(name).items() if key != "config"}

    def configuration(self, name: str) -> Any:
        return self._client.task(name).get("config")

    def history(self, name: str) -> Any:
        return self._client.history(name, _MOST_EVENTS)["items"]

    def positions(self, name: str) -> Any:
        return self._client.positions(name)["items"][-_MOST_EVENTS:]

    def processes(self) -> list[ProcessLine]:
        items = self._client.processes()["items"]
        return [ProcessLine(item["type"], item["name"], item["pid"], item["id"]) for item in items]

    def lines(self, ids: Sequence[str]) -> dict[str, str]:
        """Raises ProcessError E5072 without the right to read them."""
        found: dict[str, str] = {}
        for each in ids:
            try:
                found[each] = self._client.process_log(each)["lines"]
            except ProcessError as error:
                if error.code not in ("E5110", "E5111"):
                    raise
        return found
