"""The versions of a task's configuration: who wrote each, when and why, and any two of them side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from monitor.task_pages.side_by_side import Row, rows
from monitor.task_pages.tab import Asked
from monitor.task_pages.task_nodes import TaskNodes
from replicator.config.canonical import canonical_text
from replicator.coordination.records import VersionRecord
from replicator.errors import ProcessError


class Version(msgspec.Struct, frozen=True):
    """change: "created", "configured", "rollback" (to the version `restores`) or "" where that is not known."""

    number: int
    time_ms: int
    by: str
    change: str
    reason: str
    restores: int | None
    current: bool


class Configuration(msgspec.Struct, frozen=True, kw_only=True):
    """versions: the newest first; before, after: numbers of the two that are compared, -1 without; difference: () where
    they are equal; text: of `after`, YAML with every default; current: number of the present one."""

    versions: tuple[Version, ...]
    current: int
    before: int
    after: int
    difference: tuple[Row, ...]
    text: str
    read_ms: int
    error: dict[str, str] | None


class ConfigurationTab:
    key, title, every_s = "configuration", "Configuration", 5.0

    def __init__(self, nodes: TaskNodes) -> None:
        self._nodes = nodes

    async def content(self, asked: Asked) -> Configuration:
        read = await self._nodes.versions(asked.task)
        kept = read.value or ()
        before, after = _chosen(kept, asked.query, asked.task.config_version)
        old, new = (_text(kept, number) for number in (before, after))
        return Configuration(
            versions=tuple(_version(record, asked.task.config_version) for record in reversed(kept)),
            current=asked.task.config_version,
            before=before,
            after=after,
            difference=rows(old.splitlines(), new.splitlines()) if before >= 0 and after >= 0 else (),
            text=new,
            read_ms=read.read_ms,
            error=read.error,
        )


def _chosen(kept: Sequence[VersionRecord], query: Mapping[str, str], current: int) -> tuple[int, int]:
    """`from` and `to` of the address, else the present version and the one before it.

    Raises ProcessError E5090.
    """
    numbers = [record.number for record in kept]
    known = {str(number): number for number in numbers}
    for key in ("from", "to"):
        if key in query and query[key] not in known:
            listed = ", ".join(known) or "none"
            raise ProcessError("E5090", f"there is no version '{query[key][:20]}'", found=f"kept: {listed}")
    last = current if current in numbers else (numbers[-1] if numbers else -1)
    after = known[query["to"]] if "to" in query else last
    earlier = [number for number in numbers if number < after]
    before = known[query["from"]] if "from" in query else (earlier[-1] if earlier else -1)
    return before, after


def _text(kept: Sequence[VersionRecord], number: int) -> str:
    found = next((record for record in kept if record.number == number), None)
    return canonical_text(found.config) if found is not None else ""


def _version(record: VersionRecord, current: int) -> Version:
    return Version(
        record.number,
        record.time_ms,
        record.by,
        record.kind,
        record.reason,
        record.restores,
        record.number == current,
    )
