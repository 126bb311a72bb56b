"""Output formats: each makes plans that turn change events into bytes. See DESIGN.md."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from replicator.config.task import Records
from replicator.encode.avro import AvroDebezium
from replicator.encode.canal import Canal
from replicator.encode.canal_protobuf import CanalProtobuf
from replicator.encode.debezium import Debezium
from replicator.encode.maxwell import Maxwell
from replicator.pipeline.ports import Format

__all__ = ["formats"]


def _canal(name: str, sink: Records, server: str) -> Format:
    return Canal(name, sink, server) if sink.canal.flat_message else CanalProtobuf(name, sink, server)


def _debezium(name: str, sink: Records, server: str) -> Format:
    return (AvroDebezium if sink.debezium.converter == "avro" else Debezium)(name, sink, server)


formats: Final[dict[str, Callable[[str, Records, str], Format]]] = {
    "canal": _canal,
    "debezium": _debezium,
    "maxwell": Maxwell,
}
"""`sink.format` -> what makes the format for (task's name, sink's options, "mysql" or "mariadb")."""
