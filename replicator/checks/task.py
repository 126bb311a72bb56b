"""All findings about one task: coordinator, source, sink, in the order in which a Core meets them."""

from __future__ import annotations

import os
from pathlib import Path

from replicator.checks.finding import Finding
from replicator.config.secrets import resolve
from replicator.config.task import FileSink, KafkaSink, TaskConfig
from replicator.coordination.layout import DEFAULT_ROOT
from replicator.errors import ConfigError
from replicator.model.position import Position
from replicator.model.replica_id import derived

Names = list[tuple[str, str]]


def check_task(
    config: TaskConfig, zookeeper: str | None = None, root: str = DEFAULT_ROOT, session_timeout: float = 10.0
) -> list[Finding]:
    """Asks every server that the task needs. `zookeeper`: HOST:PORT[,...]; None: the task runs without."""
    findings: list[Finding] = []
    position: Position | None = None
    if zookeeper is not None:
        findings, position = _check_zookeeper(zookeeper, config.name, root, session_timeout)
    found, tables = _check_source(config, position)
    return [*findings, *found, *_check_sink(config, tables)]


def _check_zookeeper(hosts: str, task: str, root: str, session_timeout: float) -> tuple[list[Finding], Position | None]:
    from replicator.zookeeper.checks import check

    done = check(hosts, task, root, session_timeout)
    return done.findings, done.position


def _check_source(config: TaskConfig, position: Position | None) -> tuple[list[Finding], Names]:
    from replicator.source.mysql.checks import check
    from replicator.source.mysql.hosts import candidates

    try:
        password = resolve(config.source.password)
    except ConfigError as error:
        return [Finding.of_error("source.password", error)], []
    server_id = config.source.server_id or derived(config.name)
    findings: list[Finding] = []
    tables: Names = []
    for member in candidates(config.source):
        done = check(member, config.name, password, server_id, position)
        findings += done.findings
        tables = tables or done.tables
    return findings, tables


def _check_sink(config: TaskConfig, tables: Names) -> list[Finding]:
    if isinstance(config.sink, KafkaSink):
        from replicator.sink.kafka.checks import check

        return check(config.sink, config.name, tables)
    return [_check_file(config.sink.path)] if isinstance(config.sink, FileSink) else []


def _check_file(name: str) -> Finding:
    path = Path(name).absolute()
    if path.exists() and not path.is_file():
        return Finding("sink.file", "fail", f"{path} is not a regular file", "a file", "Correct `sink.path`.")
    if os.access(path if path.exists() else path.parent, os.W_OK):
        return Finding.ok("sink.file", f"{path} can be written")
    fix = f"Make {path.parent} and give this user the right to write there, or correct `sink.path`."
    return Finding("sink.file", "fail", f"{path} can't be written", "a writable file", fix)
