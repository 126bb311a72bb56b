"""What a support bundle takes from the bus, whether from ZooKeeper or from a Server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol


class ProcessLine(NamedTuple):
    """A process that is online. `id`: "" for one that can't be asked for its lines."""

    kind: str
    name: str
    pid: int
    id: str


class Parts(Protocol):
    """Each raises ReplicatorError for what can't be had."""

    def names(self) -> list[str]:
        """Of the tasks."""
        ...

    def machines(self) -> Any: ...

    def task(self, name: str) -> Any: ...

    def configuration(self, name: str) -> Any: ...

    def history(self, name: str) -> Any: ...

    def positions(self, name: str) -> Any: ...

    def processes(self) -> list[ProcessLine]: ...

    def lines(self, ids: Sequence[str]) -> dict[str, str]:
        """Last log lines by id of process; those that have not answered are not in it."""
        ...
