"""What a task's configuration hands to its decoder."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from replicator.assembly.pipeline import build_pipeline
from replicator.checkpoint.memory_store import MemoryStore
from replicator.config.load import parse_task
from replicator.config.numbering import rule
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Inside, Position
from replicator.model.term import Term
from replicator.sink.memory_sink import MemoryBroker, MemorySink
from replicator.source.binlog_layout import HEADER
from replicator.source.recorded_source import RecordedSource
from tests.support.in_memory import Unseen

_BINLOG = Path(__file__).parents[1] / "compiled" / "data" / "mysql_orders.bin.gz"


@pytest.mark.parametrize("format_", ["canal", "debezium"])
def test_a_place_inside_a_transaction_of_another_servers_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format_: str
) -> None:
    """Canal's records follow the events of a log: the transaction begins again. Else the number of rows is enough."""
    monkeypatch.setenv("REPL_PASSWORD", "p")
    file = tmp_path / "binlog.000001"
    file.write_bytes(gzip.decompress(_BINLOG.read_bytes()))
    source: dict[str, Any] = {"type": "mysql", "user": "u", "password": "env:REPL_PASSWORD", "tables": ["*.*"]}
    sink = {"type": "kafka", "bootstrap_servers": ["unused:1"], "delivery": "at_least_once", "format": format_}
    config = parse_task({"name": "copy", "source": source, "sink": sink})
    recorded = RecordedSource([file])

    def delivered(position: Position) -> int:
        broker = MemoryBroker()
        pipeline = build_pipeline(
            config,
            term=Term.unlimited("copy"),
            store=MemoryStore(Checkpoint(position, in_sink=False)),
            observer=Unseen(),
            source=recorded,
            sink=MemorySink("copy", broker, "at_least_once"),
        )
        pipeline.run(recorded.end_position())
        return len(broker.records)

    whole = delivered(Position(file.name, HEADER))
    inside = Position(file.name, HEADER, rows=1, inside=Inside(rule(config), 1))  # no transaction begins there
    assert delivered(inside) == (whole if format_ == "canal" else whole - 1)
