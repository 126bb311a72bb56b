"""From a snapshot and what is remembered to the `View`. Pure: the same input gives the same page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from monitor.changes import Change, changes, latest
from monitor.memory import Memory, Seen
from monitor.reader import Snapshot, TaskNode
from monitor.state import OFF, Condition, Live, condition
from monitor.view import MachineView, MemberView, ServerView, TaskView, Tiles, View
from replicator.coordination.records import MachineRecord, TaskFigures

SILENT_SECONDS = 5.0
"""A Core reports once a second; five missed reports are worth a word."""


def build(snapshot: Snapshot, memory: Memory, root: str) -> View:
    """Feeds `memory` with the snapshot and gives the page."""
    reports = {machine.record.process: machine.record for machine in snapshot.machines}
    told = {task.name: changes(task.name, task.history) for task in snapshot.tasks}
    lives = {task.name: live(task, reports) for task in snapshot.tasks}
    rates = {name: found.leader.rows_per_s if found.leader else 0.0 for name, found in lives.items()}
    memory.absorb(snapshot, told, rates)
    tasks = [_task(task, lives[task.name], memory) for task in snapshot.tasks]
    machines = [_machine(seen, memory) for seen in memory.machines.values()]
    return View(
        root=root,
        read_ms=snapshot.time_ms,
        read_seconds=snapshot.seconds,
        tiles=tiles(tasks, machines),
        tasks=by_trouble(tasks),
        machines=tuple(sorted(machines, key=lambda machine: (machine.state == "offline", machine.host))),
        servers=tuple(ServerView(server.host, server.address, server.since_ms) for server in snapshot.servers),
        changes=latest(change for lines in told.values() for change in lines),
        problems=snapshot.problems,
        takeovers=_counted(memory),
        failover_buckets=tuple(memory.takeovers.buckets),
        failover_seconds=memory.takeovers.sum,
    )


def by_trouble(tasks: Iterable[TaskView]) -> tuple[TaskView, ...]:
    """The worst first; tasks in equal trouble by name, so that rows keep their place from second to second."""
    return tuple(sorted(tasks, key=lambda task: (-task.trouble, task.name)))


def live(task: TaskNode, reports: dict[str, MachineRecord]) -> Live:
    """Joins the contenders with what their Cores report of the task."""
    figures: dict[str, TaskFigures] = {}
    owners: dict[str, MachineRecord] = {}
    for contender in task.contenders:
        instance = task.instances.get(contender.name)
        report = reports.get(instance.process) if instance else None
        found = report.tasks.get(task.name) if report else None
        if report and found and found.guid in ("", contender.guid):
            figures[contender.name], owners[contender.name] = found, report
    first = task.contenders[0] if task.contenders else None
    strays = _strays(task, reports)
    return Live(
        figures=figures,
        leader=figures.get(first.name) if first else None,
        strays=strays,
        running=sum(found.state.upper() == "RUNNING" for found in (*figures.values(), *strays.values())),
    )


def _strays(task: TaskNode, reports: dict[str, MachineRecord]) -> dict[str, TaskFigures]:
    """Reports of Cores that have no contender (any more): a FAILED one may have left the queue, and a former leader
    that still says RUNNING must be seen."""
    standing = {instance.process for instance in task.instances.values()}
    return {
        report.host: report.tasks[task.name]
        for process, report in reports.items()
        if process not in standing and task.name in report.tasks
    }


def _task(task: TaskNode, found: Live, memory: Memory) -> TaskView:
    told = condition(task, found)
    first = task.contenders[0] if task.contenders else None
    instance = task.instances.get(first.name) if first else None
    leader, commit = found.leader, task.commit
    checkpoint = commit.checkpoint if commit else None
    leads = first is not None and told.state not in OFF
    rates = memory.rates.get(task.name)
    return TaskView(
        name=task.name,
        state=told.state,
        tone=told.tone,
        trouble=told.trouble,
        notes=told.notes,
        source=_source(task),
        sink=_sink(task),
        host=first.host if leads and first else "",
        pid=instance.pid if leads and instance else 0,
        since_ms=(leader.since_ms if leader else 0) or (instance.since_ms if instance else 0),
        members=_members(task, found),
        standbys=_standbys(task, told),
        running=found.running,
        position=(leader.position if leader else "") or (str(checkpoint.position) if checkpoint else ""),
        gtid=(leader.gtid if leader else "") or (checkpoint.position.gtid if checkpoint else ""),
        lag_s=max(leader.lag_s, 0.0) if leader and told.state == "RUNNING" else None,
        rows_per_s=leader.rows_per_s if leader else 0.0,
        bytes_per_s=leader.bytes_per_s if leader else 0.0,
        rows=checkpoint.rows if checkpoint else 0,
        transactions=checkpoint.transactions if checkpoint else 0,
        spark=rates.points if rates else (),
        last_event_ms=leader.last_event_ms if leader else 0,
        checkpoint_ms=checkpoint.time_ms if checkpoint else 0,
        epoch=max(leader.epoch if leader else 0, commit.epoch if commit else 0),
        lease_left_s=leader.lease_left_s if leader else 0.0,
        config_version=task.version,
        config_invalid=told.config_invalid,
        errors=told.errors,
    )


def _members(task: TaskNode, found: Live) -> tuple[MemberView, ...]:
    members = []
    for contender in task.contenders:
        instance = task.instances.get(contender.name)
        figures = found.figures.get(contender.name)
        state = figures.state if figures else (instance.state if instance else "")
        pid, since = (instance.pid, instance.since_ms) if instance else (0, 0)
        members.append(MemberView(contender.host, pid, state.upper(), contender.sequence, since))
    return tuple(members)


def _standbys(task: TaskNode, told: Condition) -> tuple[str, ...]:
    skip = 1 if told.state not in OFF else 0
    return tuple(contender.host for contender in task.contenders[skip:])


def _source(task: TaskNode) -> str:
    source = _part(task, "source")
    if not source:
        return ""
    return f"{source.get('type', 'mysql')} {source.get('host', '127.0.0.1')}:{source.get('port', 3306)}"


def _sink(task: TaskNode) -> str:
    sink = _part(task, "sink")
    servers = sink.get("bootstrap_servers")
    place = servers[0] if isinstance(servers, list) and servers else sink.get("path", "")
    return f"{sink.get('type', '')} {place}".strip()


def _part(task: TaskNode, key: str) -> dict[str, Any]:
    config = task.task.config if task.task else None
    part = config.get(key) if config else None
    return part if isinstance(part, dict) else {}


def _machine(seen: Seen, memory: Memory) -> MachineView:
    record = seen.record
    if seen.gone_ms is not None or record is None:
        version = record.version if record else ""
        return MachineView(
            host=seen.host, state="offline", tone="bad", since_ms=seen.gone_ms or seen.last_ms, version=version
        )
    silence = memory.silence(seen.host)
    states = [figures.state.upper() for figures in record.tasks.values()]
    return MachineView(
        host=seen.host,
        state="silent" if silence > SILENT_SECONDS else "online",
        tone="warn" if silence > SILENT_SECONDS else "ok",
        since_ms=record.started_ms,
        silence_s=silence,
        pid=record.pid,
        version=record.version,
        cores=record.cores,
        load1=record.load1,
        memory_bytes=record.memory_bytes,
        memory_total_bytes=record.memory_total_bytes,
        rss_bytes=record.rss_bytes,
        session_timeout_s=record.session_timeout_s,
        running=states.count("RUNNING"),
        standby=states.count("STANDBY"),
    )


def tiles(tasks: Iterable[TaskView], machines: Iterable[MachineView]) -> Tiles:
    tasks, machines = list(tasks), list(machines)
    states = [task.state for task in tasks]
    lags = [(task.lag_s, task.name) for task in tasks if task.lag_s is not None]
    worst = max(lags, default=None)
    offline = sum(machine.state == "offline" for machine in machines)
    return Tiles(
        tasks=len(tasks),
        running=states.count("RUNNING"),
        without_running=states.count("NO RUNNING"),
        failed=states.count("FAILED") + states.count("UNREADABLE"),
        paused=states.count("PAUSED"),
        online=len(machines) - offline,
        offline=offline,
        worst_lag_s=worst[0] if worst else None,
        worst_lag_task=worst[1] if worst else "",
        rows_per_s=sum(task.rows_per_s for task in tasks),
    )


def _counted(memory: Memory) -> dict[str, dict[str, int]]:
    counted: dict[str, dict[str, int]] = {}
    for (task, kind), count in memory.takeovers.counts.items():
        counted.setdefault(task, {})[kind] = count
    return counted


__all__ = ["Change", "build", "by_trouble", "live", "tiles"]
