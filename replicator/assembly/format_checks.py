"""Findings about format options that exclude each other, and about the schema registry."""

from __future__ import annotations

from replicator.config.debezium import DebeziumOptions
from replicator.config.mysql_sink import MySQLSink
from replicator.config.task import Records, TaskConfig
from replicator.errors import ReplicatorError
from replicator.model.finding import Finding


def check(config: TaskConfig) -> list[Finding]:
    """Findings `sink.format.*`; one that says so when nothing is wrong."""
    sink = config.sink
    if isinstance(sink, MySQLSink):
        return [Finding.ok("sink.format", sink.format)]
    found = [
        Finding(
            "sink.format.others",
            "warn",
            f"sink.{name} has options, but the format is {sink.format}",
            f"options of {sink.format} only",
            f"Remove `sink.{name}`, or set `sink.format: {name}`.",
        )
        for name in ("debezium", "maxwell", "canal")
        if name != sink.format and getattr(sink, name) != type(getattr(sink, name))()
    ]
    if sink.format == "debezium":
        found.extend([*_debezium(config, sink), *_registry(sink.debezium)])
    return found or [Finding.ok("sink.format", sink.format)]


def _registry(options: DebeziumOptions) -> list[Finding]:
    if options.schema_registry is None:
        return []
    from replicator.encode.avro.registry import probe

    try:
        count = probe(options.schema_registry)
    except ReplicatorError as error:
        return [Finding.of_error("sink.registry", error)]
    insecure = options.schema_registry.tls is not None and options.schema_registry.tls.insecure
    if insecure:
        return [
            Finding(
                "sink.registry",
                "warn",
                "the certificate of the registry is not verified",
                "tls.insecure: false",
                "Set `tls.ca`.",
            )
        ]
    return [Finding.ok("sink.registry", f"answers, {count} subjects")]


def _debezium(config: TaskConfig, sink: Records) -> list[Finding]:
    options, found = sink.debezium, []
    typed = options.schemas_enable or options.converter == "avro"
    if typed and config.source.row_image == "accept_partial":
        found.append(
            Finding(
                "sink.format.placeholder",
                "warn",
                "rows may lack columns (source.row_image: accept_partial); the placeholder for them is a string, "
                "whatever type the schema has",
                "sink.debezium.schemas_enable: false, or complete row images",
                "SET GLOBAL binlog_row_image = 'FULL'; and remove `source.row_image`.",
            )
        )
    if options.topic_prefix is not None and sink.topic is not None:
        found.append(
            Finding(
                "sink.format.topics",
                "warn",
                f"sink.topic sets the topics of rows, sink.debezium.topic_prefix ({options.topic_prefix}) those "
                "of other records",
                "only one of them, unless intended",
                "Remove `sink.topic`, or `sink.debezium.topic_prefix`.",
            )
        )
    if options.heartbeat_interval_ms and options.heartbeat_interval_ms < config.database.heartbeat_s * 1000:
        found.append(
            Finding(
                "sink.format.heartbeat",
                "warn",
                f"a heartbeat every {options.heartbeat_interval_ms} ms, but the source sends one only after "
                f"{config.database.heartbeat_s:g} s without events",
                "source.heartbeat_s not above sink.debezium.heartbeat_interval_ms",
                f"Set `source.heartbeat_s: {max(options.heartbeat_interval_ms / 1000, 0.1):g}`.",
            )
        )
    return found
