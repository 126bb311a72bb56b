"""Lifecycle of a Core process, as run by `replicator core`."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from core import descriptors
from core.agent import Agent
from core.launcher import Launcher
from replicator.config.load import parse_task, to_data
from replicator.coordination.groups.membership import DEFAULT_CAPACITY
from replicator.coordination.layout import Layout
from replicator.coordination.logs.answers import LogAnswers
from replicator.host import access
from replicator.host.pid_file import held
from replicator.host.process_record import ProcessRecord
from replicator.host.service_manager import ServiceManager
from replicator.host.stop_signals import on_stop_signals
from replicator.telemetry import log
from replicator.zookeeper.client import for_process
from replicator.zookeeper.log_service import LogService
from replicator.zookeeper.outage_log import OutageLog

_LOG = log.get_logger("core")


class Part(NamedTuple):
    """What a Core takes part in. tasks: () for all without a group; group: "" for none."""

    tasks: tuple[str, ...] = ()
    group: str = ""
    capacity: int = DEFAULT_CAPACITY

    def __str__(self) -> str:
        if self.group:
            return f"group {self.group}, capacity {self.capacity}"
        return ", ".join(self.tasks) or "all tasks"


def validate(config: dict[str, Any]) -> dict[str, Any]:
    return to_data(parse_task(config))


def run(
    zookeeper: str,
    part: Part,
    host: str,
    root: str,
    session_timeout: float,
    pid_file: Path | None,
    log_format: str,
) -> None:
    """Returns when it was told to stop, and everything is handed over."""
    log.setup(log_format)
    descriptors.provide()
    access.name_process(f"the Core {host}")  # before workers are started: they inherit it
    with held(pid_file, ProcessRecord.of("core", zookeeper, root, host=host), _LOG) as stopping:
        _run(zookeeper, part, host, root, session_timeout, log_format, stopping)


def _run(
    zookeeper: str,
    part: Part,
    host: str,
    root: str,
    session_timeout: float,
    log_format: str,
    stopping: Callable[[], None],
) -> None:
    coordinator = for_process(zookeeper, session_timeout, Layout(root), "core")
    launcher = Launcher(log_format)
    manager = ServiceManager()
    agent = Agent(
        coordinator,
        Layout(root),
        host,
        part.tasks,
        launcher,
        validate,
        look=launcher.look,
        check=launcher.check,
        verify=launcher.verify,
        alive=manager.alive,
        relay=launcher.relay,
        group=part.group,
        capacity=part.capacity,
    )

    def stop() -> None:
        stopping()
        manager.stopping("handing over its tasks")
        agent.stop()

    # At the second signal our workers see their pipes close and stop at once; the session runs out by itself.
    on_stop_signals("core", stop)
    launcher.warm()
    outages = OutageLog(coordinator, _LOG).start()
    answers = LogAnswers(coordinator, Layout(root), lambda: agent.process, log.recent.text)
    lines = LogService(coordinator, answers, _LOG).start()

    # Started, also while ZooKeeper is away: to be killed and started again would not bring it back.
    manager.ready(f"waiting for ZooKeeper at {zookeeper}")

    def up(name: str) -> None:
        session = f"session {coordinator.session_timeout:g} s"
        print(f"core {name}: up, pid {os.getpid()}, zookeeper {zookeeper} ({session}), {part}", flush=True)
        manager.ready(f"up as {name}, {part}")

    try:
        agent.run(up)
    finally:
        lines.stop()
        outages.stop()
