"""Sinks, the destinations of records: Kafka, a database server, a file, standard output, memory."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from replicator.config.mysql_sink import MySQLSink as DatabaseConfig
from replicator.config.secrets import resolve
from replicator.config.task import FileSink as FileConfig
from replicator.config.task import KafkaSink as KafkaConfig
from replicator.config.task import StdoutSink as StdoutConfig
from replicator.model.target_table import TargetTables

if TYPE_CHECKING:
    from replicator.pipeline.ports import Sink
    from replicator.sink.mysql.conflicts.recorder import ValueText
    from replicator.sink.mysql.mysql_sink import TableNames
    from replicator.sink.mysql.shards import Owners
    from replicator.sink.mysql.table_creation import SourceTables


def open_sink(
    config: KafkaConfig | FileConfig | StdoutConfig | DatabaseConfig,
    task: str,
    installation: str = "",
    tables: TargetTables | None = None,
    source_tables: SourceTables | None = None,
    value_text: ValueText | None = None,
    filled: TableNames = tuple,
    owners: Owners | None = None,
    *,
    converge: bool = False,
    merges: bool = False,
) -> Sink:
    """The sink of a task's configuration. Constructs only; `Sink.open` connects.

    `installation`: id that stands in the names of what the sink keeps for itself; also the terms' that open it.

    `tables`, `source_tables`, `value_text`: that the format of the same task registers, definitions for tables that
    the target lacks, and texts of values for what is recorded; `filled`: names at the target of the tables that a first
    snapshot fills; `owners`, `converge`, `merges`: see `MySQLSink`. Only of a database server.

    Raises ConfigError E1006: a secret is not to be had.

    Imports late: a process that writes to a file need not load the Kafka client.
    """
    if isinstance(config, FileConfig):
        from replicator.host.access import file_sink_directory
        from replicator.sink.file import FileSink

        return FileSink(config, file_sink_directory())
    if isinstance(config, StdoutConfig):
        from replicator.sink.stdout import StdoutSink

        return StdoutSink()
    if isinstance(config, DatabaseConfig):
        from replicator.sink.mysql.mysql_sink import MySQLSink

        found = tables or TargetTables()
        made = partial(MySQLSink, config, resolve(config.password), task, installation, found, source_tables)
        texts = {} if value_text is None else {"value_text": value_text}
        return made(filled=filled, owners=owners, converge=converge, merges=merges, **texts)
    if config.delivery == "at_least_once":
        from replicator.sink.kafka.at_least_once import AtLeastOnceSink

        return AtLeastOnceSink(config, task, installation)
    from replicator.sink.kafka.exactly_once import ExactlyOnceSink

    return ExactlyOnceSink(config, task, installation)
