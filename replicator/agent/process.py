"""Lifecycle of an agent process, as run by `replicator agent`."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from replicator.agent.reporter import Reporter
from replicator.coordination.layout import Layout
from replicator.coordination.logs.answers import LogAnswers
from replicator.host.pid_file import held
from replicator.host.process_record import ProcessRecord
from replicator.host.service_manager import ServiceManager
from replicator.host.stop_signals import on_stop_signals
from replicator.telemetry import log
from replicator.zookeeper.client import for_process
from replicator.zookeeper.log_service import LogService
from replicator.zookeeper.outage_log import OutageLog

_LOG = log.get_logger("agent")


def run(
    zookeeper: str, host: str, role: str, root: str, session_timeout: float, pid_file: Path | None, log_format: str
) -> None:
    """Returns when it was told to stop. Raises NodeExists E5002."""
    log.setup(log_format)
    with held(pid_file, ProcessRecord.of("agent", zookeeper, root, host=host), _LOG) as stopping:
        _run(zookeeper, host, role, root, session_timeout, stopping)


def _run(zookeeper: str, host: str, role: str, root: str, session_timeout: float, stopping: Callable[[], None]) -> None:
    layout, manager = Layout(root), ServiceManager()
    coordinator = for_process(zookeeper, session_timeout, layout, "agent")
    reporter = Reporter(coordinator, layout, host, role, manager.alive)

    def stop() -> None:
        stopping()
        manager.stopping("ends")
        reporter.stop()

    on_stop_signals("agent", stop)
    outages = OutageLog(coordinator, _LOG).start()
    answers = LogAnswers(coordinator, layout, lambda: reporter.process, log.recent.text)
    lines = LogService(coordinator, answers, _LOG).start()
    manager.ready(f"waiting for ZooKeeper at {zookeeper}")

    def up() -> None:
        print(f"agent {host}: up, pid {os.getpid()}, zookeeper {zookeeper}, role {role}", flush=True)
        manager.ready(f"up as {host}, role {role}")

    try:
        reporter.run(up)
        reporter.record_end()
    finally:
        lines.stop()
        outages.stop()
        coordinator.close()
