"""Debezium and the Kafka Connect runtime, to measure against: their jars from Maven's repository."""

from __future__ import annotations

from pathlib import Path

from dev.fetch.jars import KAFKA, copy_jars
from dev.fetch.once import folder_once

DEBEZIUM = "3.6.1.Final"

_CONNECT = (
    ("org.apache.kafka", "connect-runtime", KAFKA),
    ("org.apache.kafka", "connect-json", KAFKA),
    ("org.slf4j", "slf4j-simple", "1.7.36"),
)
_CONNECTOR = (("io.debezium", "debezium-connector-mysql", DEBEZIUM),)


def connect_libs() -> Path:
    """The class path of a Connect worker."""
    return folder_once(f"connect-{KAFKA}", lambda draft: copy_jars("Kafka Connect", _CONNECT, draft))


def connectors() -> Path:
    """`plugin.path`: a folder per connector."""

    def build(draft: Path) -> None:
        folder = draft / "debezium"
        folder.mkdir()
        copy_jars("Debezium", _CONNECTOR, folder)

    return folder_once(f"debezium-{DEBEZIUM}", build)
