"""All findings about a task: coordinator, source, sink, in the order in which a Core connects to them."""

from __future__ import annotations

from replicator import compiled
from replicator.assembly import format_checks
from replicator.config.kafka_source import KafkaSource
from replicator.config.mysql_sink import MySQLSink
from replicator.config.secrets import resolve
from replicator.config.task import FileSink, KafkaSink, TaskConfig
from replicator.config.transforms import Transforms
from replicator.coordination.layout import DEFAULT_ROOT
from replicator.errors import ConfigError, ReplicatorError, SinkError
from replicator.model.finding import Finding
from replicator.model.position import Position
from replicator.model.replica_id import derived
from replicator.model.table import Table

Names = list[tuple[str, str]]
_SHARED = (
    "auto: one connection for the tasks of a Core with the same server, login, TLS and heartbeat, once they have "
    "caught up; `task describe` shows whether it is shared now"
)


def check_task(
    config: TaskConfig,
    zookeeper: str | None = None,
    root: str = DEFAULT_ROOT,
    session_timeout: float = 10.0,
    place: Position | None = None,
) -> list[Finding]:
    """Asks every server that the task needs. `zookeeper`: HOST:PORT[,...]; None: the task runs without. `place`: where
    it is to continue; None: at its position, or at its start."""
    findings: list[Finding] = []
    position = place
    if zookeeper is not None:
        findings, present = _check_zookeeper(zookeeper, config.name, root, session_timeout)
        position = place or present
    if isinstance(config.source, KafkaSource):
        return [*findings, *_check_topics(config, config.source, position)]
    found, names = _check_source(config, position)
    described = describe(config, names)
    if all(finding.id != "source.reachable" or finding.severity == "ok" for finding in found):
        found = [*found, *_check_snapshot(config, position)]
    own = [*format_checks.check(config), *_check_transforms(config, described)]
    return [*findings, Finding.ok("decoder", compiled.describe()), *found, *own, *_check_sink(config, described)]


def _check_zookeeper(hosts: str, task: str, root: str, session_timeout: float) -> tuple[list[Finding], Position | None]:
    from replicator.zookeeper.checks import check

    done = check(hosts, task, root, session_timeout)
    return done.findings, done.position


def _check_topics(config: TaskConfig, source: KafkaSource, position: Position | None) -> list[Finding]:
    from replicator.assembly.topic_checks import check_source, check_target

    return [*check_source(config, source, position), *check_target(config)]


def _check_source(config: TaskConfig, position: Position | None) -> tuple[list[Finding], Names]:
    from replicator.mysql.hosts import candidates
    from replicator.source.mysql.checks import check

    try:
        password = resolve(config.database.password)
    except ConfigError as error:
        return [Finding.of_error("source.password", error)], []
    server_id = config.database.server_id or derived(config.name)
    findings: list[Finding] = []
    tables: Names = []
    for member in candidates(config.database):
        done = check(member, config.name, password, server_id, position)
        findings += done.findings
        tables = tables or done.tables
    if config.database.share == "auto":
        findings.append(Finding.ok("source.share", _SHARED))
    return findings, tables


def _check_snapshot(config: TaskConfig, position: Position | None) -> list[Finding]:
    from replicator.assembly.snapshot_checks import check

    return check(config, position)


def describe(config: TaskConfig, names: Names) -> list[Table]:
    """With their columns only where transforms ask for them."""
    if config.transforms == Transforms() or not names:
        return [Table(database, name, ()) for database, name in names]
    return _read_tables(config, names) or []  # nothing when the connection broke since the questions before


def _read_tables(config: TaskConfig, names: Names | None) -> list[Table] | None:
    """None: nobody answers, or not to us."""
    from replicator.mysql.hosts import candidates
    from replicator.source.mysql.checks.columns import read

    for member in candidates(config.database):
        try:
            return read(member, resolve(config.database.password), names)
        except ReplicatorError:
            continue
    return None


def check_transforms(config: TaskConfig) -> list[Finding] | None:
    """Findings about the transforms alone; None when the source can't be asked from here."""
    if config.transforms == Transforms():
        return []
    tables = _read_tables(config, None)
    return None if tables is None else _check_transforms(config, tables)


def _check_transforms(config: TaskConfig, tables: list[Table]) -> list[Finding]:
    from replicator.assembly.transform_checks import check

    return check(config, tables) if tables else []


def _check_sink(config: TaskConfig, tables: list[Table]) -> list[Finding]:
    if isinstance(config.sink, KafkaSink):
        from replicator.assembly.transform_checks import topics
        from replicator.sink.kafka.checks import check

        return check(config.sink, config.name, topics(config, tables))
    if isinstance(config.sink, MySQLSink):
        from replicator.assembly.target_checks import check_target

        matches = config.source.selection().matches
        names = [(table.database, table.name) for table in tables if matches(table.database, table.name)]
        return check_target(config, config.sink, names)
    return [_check_file(config.sink.path)] if isinstance(config.sink, FileSink) else []


def _check_file(path: str) -> Finding:
    from replicator.host.access import file_sink_directory
    from replicator.sink.file_checks import check

    try:
        return Finding.ok("sink.file", f"{check(path, file_sink_directory())} can be written")
    except SinkError as error:
        return Finding.of_error("sink.file", error)
