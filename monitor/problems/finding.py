"""What is wrong with one task, machine or address, before findings with the same cause are joined."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from monitor.view import TaskRow

Subject = Literal["task", "machine", "address", "server", "cluster"]
NAMED: Final = 8
"""Names that a command is shown with; for more of them it has NAME."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """
    Attributes:
        kind: what kind of problem; with `cause`, `code` and `subject` what findings are joined by.
        severity: as in `task_state.TROUBLE`.
        one, many: the predicate for one name and for several: "has FAILED", "have FAILED".
        cause: why, "" if the predicate says it.
        since_ms: when it began, 0: unknown; at_least: or earlier.
        effect: what it means for consumers.
        todo: what to do, as a sentence; "" where a command is enough.
        command: to copy; {names} is replaced by the names.
        terms: of the filter that shows such tasks.
    """

    kind: str
    severity: int
    name: str
    one: str
    many: str
    subject: Subject = "task"
    cause: str = ""
    code: str = ""
    since_ms: int = 0
    at_least: bool = False
    effect: str = ""
    todo: str = ""
    command: str = ""
    terms: str = ""

    @property
    def key(self) -> str:
        """The same from view to view. Names of tasks have no slash."""
        return f"{self.subject}/{self.name}/{self.kind}/{self.code}"


def source_place(task: TaskRow) -> str:
    """Type and address, `mysql db1:3306`."""
    return task.source.rpartition(", ")[2]


def sink_place(task: TaskRow) -> str:
    """Type and address, `kafka k1:9092 +1`."""
    return task.destination.rpartition(", ")[2]


def place(task: TaskRow, side: str) -> str:
    """Of "source", "sink" or "registry"; "" where it is not known."""
    if side == "registry":
        return task.registry
    return {"source": source_place(task), "sink": sink_place(task)}.get(side, "")
