from collections.abc import Callable
from logging import Logger
from socket import socket
from typing import Any

# Private; why they are needed is beside their use in replicator/zookeeper/connection.py.
_CONNECTION_DROP: object

class ConnectionHandler:
    def __init__(
        self, client: Any, retry_sleeper: Any, logger: Logger | None = None, sasl_options: dict[str, str] | None = None
    ) -> None: ...
    _invoke: Callable[..., Any]
    _write_sock: socket | None
