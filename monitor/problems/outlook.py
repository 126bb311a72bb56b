"""What goes wrong with a task that runs, if nothing is done. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from monitor.formatting import duration
from monitor.problems.finding import Finding
from monitor.task_state import CERTIFICATE_WARN_S, CHECKPOINT_WARN_S, RETENTION_WARN_S, TROUBLE
from monitor.view import TaskRow


def outlook(task: TaskRow, now_ms: int) -> Iterator[Finding]:
    yield from _configuration(task)
    yield from _certificate(task, now_ms)
    if (
        task.state == "RUNNING"
        and task.retention_headroom_s is not None
        and task.retention_headroom_s < RETENTION_WARN_S
    ):
        yield _retention(task, task.retention_headroom_s)
    if task.state == "RUNNING" and task.last_event_ms - task.checkpoint_ms > CHECKPOINT_WARN_S * 1000:
        yield _checkpoint(task)
    yield from _delivered(task)


def _configuration(task: TaskRow) -> Iterator[Finding]:
    if task.config_invalid:
        error = task.errors[-1] if task.errors else {}
        yield Finding(
            kind="config refused",
            severity=TROUBLE["config refused"],
            name=task.name,
            one="refuses its newest configuration",
            many="refuse their newest configuration",
            cause=error.get("what", ""),
            code=error.get("code", ""),
            effect="It continues with the one before: consumers do not see the change that was meant.",
            todo=error.get("fix", ""),
            command="replicator task diff {names}",
        )
    for one in task.addresses:
        if one.error is not None:
            yield Finding(
                kind="address refused",
                severity=TROUBLE["address refused"],
                name=task.name,
                one=f"does not use the new {one.section} address {one.wanted or 'ddns:' + one.name}",
                many=f"do not use the new {one.section} address {one.wanted or 'ddns:' + one.name}",
                cause=one.error.get("what", ""),
                code=one.error.get("code", ""),
                since_ms=one.since_ms,
                effect=f"It continues with {one.in_use}." if one.in_use else "Consumers receive nothing.",
                todo=one.error.get("fix", ""),
                command=f"replicator ddns get {one.name}",
            )


def _certificate(task: TaskRow, now_ms: int) -> Iterator[Finding]:
    if not task.certificate_ms:
        return
    left = (task.certificate_ms - now_ms) / 1000
    if left >= CERTIFICATE_WARN_S:
        return
    ended = left <= 0
    end = "has expired" if ended else f"expires in {duration(left)}"
    yield Finding(
        kind="certificate ended" if ended else "certificate",
        severity=TROUBLE["certificate ended" if ended else "certificate"],
        name=task.name,
        one=f"uses a certificate of {task.certificate} that {end}",
        many=f"use a certificate of {task.certificate} that {'has expired' if ended else 'expires within 14 days'}",
        since_ms=task.certificate_ms if ended else 0,
        effect="The next connection will fail, and consumers will receive nothing.",
        todo="Install a new certificate there; no task has to be restarted.",
        command="replicator task describe {names}",
        terms="note:certificate",
    )


def _retention(task: TaskRow, left_s: float) -> Finding:
    return Finding(
        kind="retention",
        severity=TROUBLE["retention"],
        name=task.name,
        one=f"needs binlog that its source may purge in {duration(left_s)}",
        many="need binlog that their sources may purge within a day",
        effect="If it is purged, consumers lose rows until a new snapshot.",
        todo="Raise binlog_expire_logs_seconds at the source, or remove what makes the task late.",
        command="replicator docs operations purged",
        terms="headroom<24h",
    )


def _checkpoint(task: TaskRow) -> Finding:
    return Finding(
        kind="checkpoint",
        severity=TROUBLE["checkpoint"],
        name=task.name,
        one="delivers rows and writes no checkpoints",
        many="deliver rows and write no checkpoints",
        since_ms=task.checkpoint_ms,
        effect="Consumers notice nothing now; a take-over would read again from the last checkpoint.",
        todo="Look at the log of its Core, and at a transaction that has not ended at the source.",
        command="replicator task describe {names}",
        terms="note:checkpoint",
    )


def _delivered(task: TaskRow) -> Iterator[Finding]:
    if task.verification is not None and task.verification.result == "differs":
        yield Finding(
            kind="target differs",
            severity=TROUBLE["target differs"],
            name=task.name,
            one="has a target that differs from its source",
            many="have targets that differ from their sources",
            since_ms=task.verification.ended_ms,
            effect="Applications read rows there that are not those of the source.",
            command="replicator task describe {names}",
            terms="note:differs",
        )
    if task.late_consumers:
        more = len(task.late_consumers) - 1
        yield Finding(
            kind="late consumers",
            severity=TROUBLE["late consumers"],
            name=task.name,
            one="has consumers that lose records",
            many="have consumers that lose records",
            cause=task.late_consumers[0] + (f", and {more} more" if more else ""),
            effect="Records that retention deletes before they are read are lost for these groups.",
            todo="Start or speed up these consumers, or raise retention.ms of the topic.",
            command="replicator task describe {names}",
            terms="note:consumer",
        )
