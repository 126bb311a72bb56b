"""What is wrong with a task now, and what was: each with its code, its remedy, how often and since when."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from monitor.task_pages.tab import Asked
from monitor.task_pages.task_nodes import TaskNodes
from monitor.view import TaskRow
from replicator.codes import CODES
from replicator.coordination.records import HistoryRecord
from replicator.coordination.tasks.history import Entry

_KINDS: Final = frozenset({"failed", "refused", "quarantined", "fenced", "gave up", "lost", "address"})
_CODE: Final = re.compile(r"\bE\d{4}\b")


class Present(msgspec.Struct, frozen=True, kw_only=True):
    """An error that lasts. since_ms: 0 where that is not known; attempts: that failed, of a task that retries; times:
    how often the history has it; stops: the task does not run while it lasts."""

    code: str
    title: str
    what: str
    found: str = ""
    wanted: str = ""
    fix: str = ""
    position: str = ""
    table: str = ""
    since_ms: int = 0
    attempts: int = 0
    times: int = 0
    stops: bool = False


class Past(msgspec.Struct, frozen=True, kw_only=True):
    """Entries of the history with the same code, or without a code of the same kind.

    Attributes:
        text: of the last one; remedy: of the code.
        lasts: it is among the present ones too.
    """

    code: str
    kind: str
    title: str
    text: str
    remedy: str
    times: int
    first_ms: int
    last_ms: int
    hosts: tuple[str, ...]
    position: str = ""
    lasts: bool = False


class Errors(msgspec.Struct, frozen=True):
    """present: the most basic first; past: the newest first; since_ms: where the history begins."""

    present: tuple[Present, ...]
    past: tuple[Past, ...]
    since_ms: int
    read_ms: int
    error: dict[str, str] | None


class ErrorsTab:
    key, title, every_s = "errors", "Errors", 3.0

    def __init__(self, nodes: TaskNodes) -> None:
        self._nodes = nodes

    async def content(self, asked: Asked) -> Errors:
        read = await self._nodes.history(asked.task)
        entries = read.value or ()
        lasting = present(asked.task, entries)
        before = past(entries, {one.code for one in lasting})
        since_ms = entries[0].record.time_ms if entries else 0
        return Errors(lasting, before, since_ms, read.read_ms, read.error)


def present(task: TaskRow, entries: Sequence[Entry]) -> tuple[Present, ...]:
    return tuple(_present(task, error, entries) for error in task.errors)


def _present(task: TaskRow, error: dict[str, str], entries: Sequence[Entry]) -> Present:
    code = error.get("code", "")
    noted = [entry.record for entry in entries if entry.record.kind in _KINDS and _code(entry.record) == code]
    since_ms, attempts = (noted[-1].time_ms if noted and code else 0), 0
    stops = task.state == "FAILED" and (not noted or noted[-1].kind == "failed")
    if task.retrying is not None and task.retrying.code == code:
        since_ms, attempts = task.retrying.since_ms, task.retrying.attempts
    elif stops and task.since_ms:
        since_ms = task.since_ms
    return Present(
        code=code,
        title=CODES[code].title if code in CODES else "",
        what=error.get("what", ""),
        found=error.get("found", ""),
        wanted=error.get("wanted", ""),
        fix=error.get("fix", "") or (CODES[code].remedy if code in CODES else ""),
        position=error.get("position", ""),
        table=error.get("table", ""),
        since_ms=since_ms,
        attempts=attempts,
        times=len(noted),
        stops=stops,
    )


def past(entries: Sequence[Entry], lasting: set[str]) -> tuple[Past, ...]:
    """`lasting`: codes of the present ones."""
    groups: dict[tuple[str, str], list[HistoryRecord]] = {}
    for entry in entries:
        if entry.record.kind in _KINDS:
            code = _code(entry.record)
            groups.setdefault((code, "" if code else entry.record.kind), []).append(entry.record)
    found = [_past(code, records, lasting) for (code, _), records in groups.items()]
    return tuple(sorted(found, key=lambda one: one.last_ms, reverse=True))


def _past(code: str, records: Sequence[HistoryRecord], lasting: set[str]) -> Past:
    last = records[-1]
    return Past(
        code=code,
        kind=last.kind,
        title=CODES[code].title if code in CODES else "",
        text=last.reason,
        remedy=CODES[code].remedy if code in CODES else "",
        times=len(records),
        first_ms=records[0].time_ms,
        last_ms=last.time_ms,
        hosts=tuple(sorted({record.host for record in records if record.host})),
        position=last.position,
        lasts=code in lasting,
    )


def _code(record: HistoryRecord) -> str:
    found = _CODE.search(record.reason)
    return found[0] if found else ""
