"""One stream through both decoders."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from replicator.config.canal import CanalOptions
from replicator.config.debezium import DebeziumOptions
from replicator.config.task import StdoutSink
from replicator.decode.decoder import BinlogDecoder
from replicator.decode.native.compiled_decoder import CompiledDecoder
from replicator.encode import formats
from replicator.encode.row_images import RowImages
from replicator.encode.topics import Topics
from replicator.errors import ReplicatorError, SourceError
from replicator.model.condition import Filter
from replicator.model.plan import TablePlan
from replicator.model.position import Position
from replicator.model.table import Table
from replicator.model.target_table import TargetTables
from replicator.source.binlog_layout import packets
from replicator.transform.column_remap import ungrouped

Framing = Literal["packet", "file"]
FORMATS = ("debezium", "maxwell", "canal")
IMAGES = "row_images"
"""The format of sinks that are databases."""
_HERE = Path(__file__).parent
_RECORDED = Path(__file__).parents[2] / "data" / "binlog"
_FORMAT_DESCRIPTION = 15
NOW = 1_700_000_000_123_456_789


def recordings() -> list[Path]:
    """Binlogs of real servers: named after them."""
    return [*sorted(_RECORDED.glob("*.bin")), *sorted((_HERE / "data").glob("*.bin.gz"))]


def read(path: Path) -> bytes:
    """Without the magic."""
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return raw[4:]


def flavor(path: Path) -> Literal["mysql", "mariadb"]:
    return "mariadb" if path.name.startswith("mariadb") else "mysql"


def as_packets(raw: bytes) -> bytes:
    return b"".join(packets(event) for event in events(raw))


def events(raw: bytes) -> list[bytes]:
    found, at = [], 0
    while at < len(raw):
        size = int.from_bytes(raw[at + 9 : at + 13], "little")
        found.append(raw[at : at + size])
        at += size
    return found


def without_checksums(whole: Sequence[bytes]) -> list[bytes]:
    """The events of a file as they were without, so that damage is not met by their checksums."""
    found, at = [], 4
    for event in whole:
        body = event[19:-5] + b"\0" + event[-4:] if event[4] == _FORMAT_DESCRIPTION else event[19:-4]
        size = 19 + len(body)
        at += size
        found.append(event[:9] + struct.pack("<II", size, at) + event[17:19] + body)
    return found


def sink(form: str, **options: Any) -> StdoutSink:
    """`form`: a format, "avro", or "protobuf". options: of Debezium, or of Canal."""
    if form == "protobuf":
        return StdoutSink(type="stdout", format="canal", canal=CanalOptions(flat_message=False, **options))
    if form == "avro":
        options |= {"converter": "avro", "schema_registry": {"url": "http://registry:8081"}}
    if not options:
        return StdoutSink(type="stdout", format=form)
    return StdoutSink(type="stdout", format="debezium", debezium=DebeziumOptions(**options))


def format_of(form: str, server: str = "mysql", **options: Any) -> Any:
    if form == IMAGES:
        return RowImages(TargetTables())
    given = sink(form, **options)
    return formats[given.format]("t", given, server)


def decoder(
    kind: type[BinlogDecoder],
    form: str,
    server: Literal["mysql", "mariadb"],
    framing: Framing,
    position: Position,
    chosen: Filter | None = None,
    **options: Any,
) -> BinlogDecoder:
    made = format_of(form, server)
    topics = Topics("{task}.{database}.{table}", "t")

    def planned(table: Table) -> TablePlan:
        plan = made.plan(table, topics.topic(table))
        return plan if chosen is None else msgspec.structs.replace(ungrouped(plan), filter=chosen)

    return kind(
        planned,
        position=position,
        flavor=server,
        framing=framing,
        server_error=lambda errno, state, text: SourceError("E2211", f"{errno} {state} {text}"),
        narrator=made,
        clock=lambda: NOW,
        **options,
    )


def told(decoder: BinlogDecoder, pieces: Sequence[bytes]) -> list[Any]:
    """Everything that comes out, batch by batch, and the error at the end."""
    found: list[Any] = []
    try:
        for piece in [*pieces, b""]:
            for batch in decoder.feed(piece):
                found.append(_plain(batch))
            while decoder.more:
                found += [_plain(batch) for batch in decoder.feed(b"")]
    except ReplicatorError as error:
        found.append((type(error), error.to_dict()))
    return [*found, dict(decoder.counters), decoder.position]


def _plain(batch: Any) -> tuple[Any, ...]:
    records = list(batch.records)
    return (
        records, batch.position, batch.boundary, batch.rows, batch.transactions, batch.size, batch.source_ms,
        batch.first_ms,
    )  # fmt: skip


def both(
    form: str,
    server: Literal["mysql", "mariadb"],
    framing: Framing,
    pieces: Sequence[bytes],
    position: Position | None = None,
    **options: Any,
) -> tuple[list[Any], list[Any]]:
    """What the twin tells, and what the compiled one tells."""
    start = position or Position("binlog.000001", 4)
    twin, ours = (
        told(decoder(kind, form, server, framing, start, **options), pieces)
        for kind in (BinlogDecoder, CompiledDecoder)
    )
    return twin, ours


def cut(raw: bytes, size: int) -> list[bytes]:
    return [raw[at : at + size] for at in range(0, len(raw), size)]
