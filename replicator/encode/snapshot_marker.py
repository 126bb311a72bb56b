"""The record that says that a snapshot is complete, and from which position on its copy is consistent."""

from __future__ import annotations

import uuid
from typing import Final

import msgspec

from replicator.model.metadata_event import Message
from replicator.model.snapshot_steps import SnapshotEnds

_NAMESPACE: Final = uuid.UUID("9a5b0d6c-3c43-5c0e-8a6e-3d6f4b7f2f10")


def record(step: SnapshotEnds, topic: str) -> Message:
    """Of formats that have none of their own. Its key names task and snapshot, so that a compacted topic keeps one of
    each, also where several tasks write to it."""
    value = {
        "type": "snapshot-complete",
        "task": step.task,
        "snapshot": step.id,
        "position": step.position,
        "gtid": step.gtid,
        "tables": step.tables,
        "rows": step.rows,
        "begun_ms": step.begun_ms,
        "ts_ms": step.time_ms,
    }
    return Message(topic, f"{step.task}/{step.id}".encode(), msgspec.json.encode(value))


def notification(step: SnapshotEnds, connector: str) -> tuple[str, str]:
    """Key and value as Debezium's notifications have them (JSON). `connector`: its logical name."""
    number = str(uuid.uuid5(_NAMESPACE, f"{step.task}/{step.id}/{step.begun_ms}"))
    data = {
        "connector_name": connector,
        "snapshot": step.id,
        "position": step.position,
        "gtid": step.gtid,
        "tables": str(step.tables),
        "rows": str(step.rows),
    }
    value = {
        "id": number,
        "type": "COMPLETED",
        "aggregate_type": "Incremental Snapshot" if step.ordered else "Initial Snapshot",
        "additional_data": data,
        "timestamp": step.time_ms,
    }
    return msgspec.json.encode({"id": number}).decode(), msgspec.json.encode(value).decode()
