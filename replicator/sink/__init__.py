"""Sinks, the destinations of records: Kafka, a file, standard output, memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replicator.config.task import FileSink as FileConfig
from replicator.config.task import KafkaSink as KafkaConfig
from replicator.config.task import StdoutSink as StdoutConfig

if TYPE_CHECKING:
    from replicator.pipeline.ports import Sink


def open_sink(config: KafkaConfig | FileConfig | StdoutConfig, task: str, installation: str = "") -> Sink:
    """The sink of a task's configuration. Constructs only; `Sink.open` connects.

    `installation`: id that stands in the names of what the sink keeps for itself; also the terms' that open it.

    Imports late: a process that writes to a file need not load the Kafka client.
    """
    if isinstance(config, FileConfig):
        from replicator.host.access import file_sink_directory
        from replicator.sink.file import FileSink

        return FileSink(config, file_sink_directory())
    if isinstance(config, StdoutConfig):
        from replicator.sink.stdout import StdoutSink

        return StdoutSink()
    if config.delivery == "at_least_once":
        from replicator.sink.kafka.at_least_once import AtLeastOnceSink

        return AtLeastOnceSink(config, task, installation)
    from replicator.sink.kafka.exactly_once import ExactlyOnceSink

    return ExactlyOnceSink(config, task, installation)
