"""What is wrong with a task: states in which no data flows, and what keeps it from flowing. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from monitor.formatting import duration, lag
from monitor.problems.finding import Finding, place
from monitor.problems.outlook import outlook
from monitor.task_state import LAG_BAD_S, LAG_WARN_S, OFF, TROUBLE
from monitor.view import TaskRow
from replicator.codes import CODES

KEPT: Final = "No row is lost while the source keeps its binlog."
NOTHING: Final = "Consumers receive nothing until it is RUNNING. " + KEPT
GRACE_MS: Final = 5000
"""A task may be on the way to RUNNING for so long without being a problem."""


def of_task(task: TaskRow, now_ms: int) -> Iterator[Finding]:
    """The worst cause, without its consequences: a task that retries its sink also lags, which needs no second line."""
    if task.running > 1:
        yield _rivals(task)
    if task.state == "UNREADABLE":
        yield _unreadable(task)
    elif task.state == "FAILED":
        yield _failed(task)
    elif task.unplaced:
        yield _unplaced(task)
    elif task.state == "NO RUNNING":
        yield _without(task)
    elif task.state == "UNCONFIGURED":
        yield _unconfigured(task)
    elif task.state not in OFF:
        yield from _live(task, now_ms)
    yield from _kept_back(task)


def _live(task: TaskRow, now_ms: int) -> Iterator[Finding]:
    if task.figures_old and task.figures_age_s is not None:
        yield _silent(task, now_ms)
        return
    if task.retrying is not None:
        yield _retrying(task)
    elif task.state in ("WAITING", "STARTING", "IDLE") and task.since_ms and now_ms - task.since_ms > GRACE_MS:
        yield _on_the_way(task)
    elif task.lag_s is not None and task.lag_s > LAG_WARN_S:
        yield _lagging(task, task.lag_s, now_ms)
    yield from outlook(task, now_ms)
    if len(task.standbys) < task.wanted_standbys:
        yield _alone(task)


def _rivals(task: TaskRow) -> Finding:
    return Finding(
        kind="rivals",
        severity=TROUBLE["rivals"],
        name=task.name,
        one="is reported RUNNING by several Cores",
        many="are reported RUNNING by several Cores",
        effect="Writes of all but the newest term are refused, so consumers receive each row once.",
        todo="If it lasts longer than a few seconds, compare the clocks and the logs of these Cores.",
        command="replicator task describe {names}",
    )


def _unreadable(task: TaskRow) -> Finding:
    error = task.errors[0] if task.errors else {}
    return Finding(
        kind="unreadable",
        severity=TROUBLE["UNREADABLE"],
        name=task.name,
        one="has a configuration that cannot be read",
        many="have a configuration that cannot be read",
        cause=error.get("what", ""),
        code=error.get("code", ""),
        effect="No Core can start it: consumers receive nothing.",
        todo=error.get("fix", "") or "Apply its file again.",
        command="replicator task describe {names}",
        terms="state:unreadable",
    )


def _failed(task: TaskRow) -> Finding:
    error = task.errors[0] if task.errors else {}
    code = error.get("code", "")
    known = CODES.get(code)
    return Finding(
        kind="failed",
        severity=TROUBLE["FAILED"],
        name=task.name,
        one="has FAILED",
        many="have FAILED",
        cause=error.get("what", ""),
        code=code,
        since_ms=task.since_ms,
        effect="Consumers receive nothing until it is corrected and retried. " + KEPT,
        todo=error.get("fix", "") or (known.remedy if known is not None else ""),
        command="replicator task retry {names}",
        terms="state:failed",
    )


def _unplaced(task: TaskRow) -> Finding:
    return Finding(
        kind="unplaced",
        severity=TROUBLE["NO RUNNING"] if task.state == "NO RUNNING" else TROUBLE["unplaced"],
        name=task.name,
        one="has no Core",
        many="have no Core",
        cause=f"no Core of group {task.group} has room for it",
        code="E4050",
        effect=NOTHING if task.state == "NO RUNNING" else "It is not moved or taken over.",
        todo="Start another Core of the group, or raise --capacity.",
        command=f"replicator group describe {task.group}",
        terms=f"group:{task.group} state:no-running",
    )


def _without(task: TaskRow) -> Finding:
    return Finding(
        kind="without",
        severity=TROUBLE["NO RUNNING"],
        name=task.name,
        one="is not run by any Core",
        many="are not run by any Core",
        since_ms=task.without_since_ms,
        effect=NOTHING,
        todo="Start a Core, or end the drain of a machine.",
        command="replicator machine get",
        terms="state:no-running",
    )


def _unconfigured(task: TaskRow) -> Finding:
    return Finding(
        kind="unconfigured",
        severity=TROUBLE["UNCONFIGURED"],
        name=task.name,
        one="has no configuration",
        many="have no configuration",
        effect="It has never delivered anything.",
        todo="Apply its file, or delete it.",
        command="replicator task apply -f FILE",
        terms="state:unconfigured",
    )


def _silent(task: TaskRow, now_ms: int) -> Finding:
    return Finding(
        kind="silent",
        severity=TROUBLE["no report"],
        name=task.name,
        one="has not been reported",
        many="have not been reported",
        cause=f"the Core on {task.host} does not write its figures",
        since_ms=now_ms - int((task.figures_age_s or 0) * 1000),
        effect="Whether rows are delivered is not known; a standby takes over when the session of that Core expires.",
        todo="Look at the load, the clock and the log of that Core.",
        command="replicator machine get",
        terms=f"host:{task.host}",
    )


def _retrying(task: TaskRow) -> Finding:
    retrying = task.retrying
    assert retrying is not None  # noqa: S101 - of the caller
    where = place(task, retrying.side)
    what = {"registry": "the schema registry", "host": "its host", "": "an operation"}.get(retrying.side, "")
    known = CODES.get(retrying.code)
    return Finding(
        kind="retrying",
        severity=TROUBLE["retrying"] + 30,
        name=task.name,
        one=f"cannot use {where or what or 'the ' + retrying.side} and retries",
        many=f"cannot use {where or what or 'the ' + retrying.side} and retry",
        cause=retrying.what,
        code=retrying.code,
        since_ms=retrying.since_ms,
        effect=retrying.effect or "Nothing is delivered until an attempt succeeds.",
        todo=retrying.fix or (known.remedy if known is not None else ""),
        command="replicator task describe {names}",
        terms=f"state:retrying code:{retrying.code}" if retrying.code else "state:retrying",
    )


def _on_the_way(task: TaskRow) -> Finding:
    return Finding(
        kind="on the way",
        severity=TROUBLE["on the way"],
        name=task.name,
        one=f"is not RUNNING yet, but {task.state}",
        many=f"are not RUNNING yet, but {task.state}",
        since_ms=task.since_ms,
        effect="Consumers receive nothing until it is RUNNING.",
        command="replicator task describe {names}",
        terms=f"state:{task.state.lower()}",
    )


def _lagging(task: TaskRow, lag_s: float, now_ms: int) -> Finding:
    bad = lag_s > LAG_BAD_S
    limit = duration(LAG_BAD_S if bad else LAG_WARN_S)
    return Finding(
        kind="lag bad" if bad else "lag",
        severity=TROUBLE["lag bad" if bad else "lag"],
        name=task.name,
        one=f"is more than {limit} behind its source" if task.lag_at_most else f"is {lag(lag_s)} behind its source",
        many=f"are more than {limit} behind their sources",
        since_ms=now_ms - int(lag_s * 1000),
        effect="Consumers see changes that late; none is missing.",
        todo="Compare rows/s and the charts of the task: a long transaction, a slow sink or too few CPUs.",
        command="replicator task describe {names}",
        terms=f"lag>{int(LAG_BAD_S if bad else LAG_WARN_S)}",
    )


def _alone(task: TaskRow) -> Finding:
    some = bool(task.standbys)
    return Finding(
        kind="no standby",
        severity=TROUBLE["no standby"],
        name=task.name,
        one="has too few standbys" if some else "has no standby",
        many="have too few standbys" if some else "have no standby",
        effect="Consumers notice nothing, until the Core that runs it fails: then it is not taken over.",
        todo="Start a Core on another host.",
        command="replicator machine get",
        terms="standbys<1" if not some else f"standbys<{task.wanted_standbys}",
    )


def _kept_back(task: TaskRow) -> Iterator[Finding]:
    """What operators have ordered, and may have forgotten."""
    if task.maintenance == "task":
        yield Finding(
            kind="maintenance",
            severity=TROUBLE["maintenance"],
            name=task.name,
            one="is in maintenance",
            many="are in maintenance",
            cause=next((note.partition(" by ")[2] for note in task.notes if note.startswith("maintenance")), ""),
            effect="It continues, but no standby is promoted.",
            command="replicator task resume --maintenance {names}",
            terms="note:maintenance",
        )
    if task.quarantined:
        yield Finding(
            kind="quarantine",
            severity=TROUBLE["late consumers"],
            name=task.name,
            one="leaves out tables in quarantine",
            many="leave out tables in quarantine",
            cause=", ".join(one.partition(" ")[0] for one in task.quarantined),
            effect="Consumers receive no rows of these tables.",
            todo="Correct the cause, then release them.",
            command="replicator task quarantine {names} --list",
        )
