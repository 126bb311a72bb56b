"""Options of format debezium: each with its counterpart's default, and its name in snake_case."""

from __future__ import annotations

from pydantic import Field

from replicator.config.base import Model


class DebeziumOptions(Model):
    context_headers: bool = Field(
        True,
        description="headers __debezium.context.connectorLogicalName, .taskId, .connectorName, .runId on every record",
    )
