"""Opens what finds and deletes the topics of a task."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

from replicator.config.task import KafkaSink, TaskConfig
from replicator.errors import ProcessError
from replicator.sink.kafka.written_topics import TopicPurge


@contextmanager
def open_topic_purge(config: TaskConfig, installation: str) -> Iterator[TopicPurge]:
    """Raises ProcessError E5061 for a task that writes no topics; ConfigError E1006, a secret is not here; SinkError,
    SinkUnavailable at the first question."""
    sink = config.sink
    if not isinstance(sink, KafkaSink):
        raise ProcessError("E5061", f"'{config.name}' writes no topics", found=f"sink.type: {sink.type}")
    with closing(TopicPurge(sink, config.name, installation)) as purge:
        yield purge
