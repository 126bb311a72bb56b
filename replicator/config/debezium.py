"""Options of format debezium: each with its counterpart's default."""

from __future__ import annotations

from replicator.config.base import Model


class DebeziumOptions(Model):
    pass
