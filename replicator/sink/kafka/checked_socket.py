"""Makes kafka-python connect to allowed addresses only, those that brokers name included.

kafka-python opens its connections by a `KafkaNetSocket`, and chooses the class by the scheme of its option `proxy_url`:
subclasses register theirs. This one has no proxy; it replaces the look-up of names.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

from kafka.errors import KafkaConnectionError
from kafka.net import KafkaNetSocket

from replicator.errors import ConfigError
from replicator.net import connections

URL: Final = "replicator-checked://"
"""For `proxy_url`."""


class CheckedSocket(KafkaNetSocket):
    SCHEMES: ClassVar[tuple[str, ...]] = ("replicator-checked",)

    def dns_lookup(self, host: str, port: int, raise_error: bool = False) -> list[tuple[Any, ...]]:
        """As `socket.getaddrinfo`. Raises KafkaConnectionError."""
        try:
            found = connections.resolve(host, port)
        except (OSError, UnicodeError, ConfigError) as error:
            raise KafkaConnectionError(str(error)) from error
        return [(each.family, each.kind, each.protocol, "", each.sockaddr) for each in found]
