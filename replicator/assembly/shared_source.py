"""Sources that share their dump connection, and the relay that reads it. The Core puts them into processes."""

from __future__ import annotations

import sys
from collections.abc import Callable

from replicator.config.kafka_source import KafkaSource
from replicator.config.secrets import resolve
from replicator.config.task import TaskConfig
from replicator.errors import SourceUnavailable
from replicator.pipeline.ports import Source
from replicator.source.mysql import MySQLSource
from replicator.source.shared.relay import Relay
from replicator.source.shared.source import SharedSource
from replicator.source.shared.terms import Terms, replica_id

__all__ = ["SharedSource", "Terms", "run_relay", "shared"]


def shared(
    config: TaskConfig, source: Source, ask: Callable[[Terms], None], note: Callable[[str], None]
) -> SharedSource | None:
    """None: the task's stream is its own. For `ask` and `note` see `SharedSource`."""
    if sys.platform != "linux":  # memory without a name, sockets without a file
        return None
    if isinstance(config.source, KafkaSource) or config.source.share == "never" or not isinstance(source, MySQLSource):
        return None
    return SharedSource(source, ask, note)


def run_relay(config: TaskConfig, terms: tuple[str, str, str], name: str, installation: str, host: str) -> None:
    """Until nobody reads any more. Raises SourceUnavailable, SourceError, ConfigError, OSError.

    Args:
        config: of one of the tasks, for login and TLS.
        terms: key, where and replica of the stream that is to be shared, see `Terms`.
        name: of the relay's socket.
        host: label of the Core.
    """
    key, where, replica = terms
    source = MySQLSource(
        config.database,
        f"shared:{host}",
        resolve(config.database.password),
        replica_id(installation, host, replica),
        statements=config.sink.statements,
    )
    stream = source.open_end(where)
    try:
        if stream.terms is None or stream.terms.key != key:
            raise SourceUnavailable("E2002", "the server is another one than that of the tasks")
        relay = Relay(stream, name, key)
    except BaseException:
        stream.close()
        raise
    relay.run()
