"""Change events to bytes, as plans: a format is one file here. See DESIGN.md."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from replicator.config.task import Records
from replicator.encode.canal import Canal
from replicator.encode.debezium import Debezium
from replicator.ports import Format

__all__ = ["formats"]

formats: Final[dict[str, Callable[[str, Records, str], Format]]] = {"canal": Canal, "debezium": Debezium}
"""`sink.format` -> what makes the format for (task's name, sink's options, "mysql" or "mariadb")."""
