"""Real servers for tests, benchmarks and the demo: private data, free loopback ports, no service script."""

from dev.errors import ServerFailed, ServerUnavailable
from dev.servers.base import Server
from dev.servers.database import Database, MariaDB, MySQL
from dev.servers.kafka import Kafka
from dev.servers.redis import Redis
from dev.servers.registry import Registry
from dev.servers.stack import Stack
from dev.servers.zookeeper import ZooKeeper

__all__ = [
    "Database",
    "Kafka",
    "MariaDB",
    "MySQL",
    "Redis",
    "Registry",
    "Server",
    "ServerFailed",
    "ServerUnavailable",
    "Stack",
    "ZooKeeper",
]
