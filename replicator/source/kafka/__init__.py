"""Topics of Kafka as a source."""

from replicator.source.kafka.source import TopicSource

__all__ = ["TopicSource"]
