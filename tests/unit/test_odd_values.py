"""Values that JSON or a peer's notation has no place for: docs/formats.md has one table of what is written for each."""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Iterator
from typing import Any

import pytest

from dev.paths import TREE
from replicator import compiled
from replicator.config.task import StdoutSink
from replicator.decode.decoder import BinlogDecoder
from replicator.decode.native.compiled_decoder import CompiledDecoder
from replicator.encode import canal_messages as proto
from replicator.encode import formats
from replicator.encode.topics import Topics
from replicator.errors import SourceError
from replicator.model.position import Position
from tests.support.binlog_writer import VARCHAR, BinlogWriter, Column, TableSpec

DOUBLE, DATE, YEAR, TIMESTAMP2, DATETIME2, TIME2 = 5, 10, 13, 17, 18, 19


def _time(sign: int, hours: int, minutes: int, seconds: int) -> bytes:
    return (0x800000 + sign * (hours << 12 | minutes << 6 | seconds)).to_bytes(3, "big")


def _datetime(year: int, month: int, day: int) -> bytes:
    return (0x8000000000 | (year * 13 + month) << 22 | day << 17).to_bytes(5, "big")


def _date(year: int, month: int, day: int) -> bytes:
    return (year << 9 | month << 5 | day).to_bytes(3, "little")


VALUES: dict[str, tuple[Column, Any]] = {
    "DOUBLE NaN": (Column("a", DOUBLE, meta=b"\x08"), struct.pack("<d", math.nan)),
    "DOUBLE infinity": (Column("b", DOUBLE, meta=b"\x08"), struct.pack("<d", -math.inf)),
    "YEAR 0000": (Column("c", YEAR), b"\x00"),
    "VARCHAR with invalid UTF-8": (Column("d", VARCHAR), b"a\xff\xc3("),
    "DATE 0000-00-00": (Column("e", DATE), _date(0, 0, 0)),
    "DATE 2024-05-00": (Column("f", DATE), _date(2024, 5, 0)),
    "DATE 0024-05-06": (Column("g", DATE), _date(24, 5, 6)),
    "DATETIME 0000-00-00 00:00:00": (Column("h", DATETIME2, meta=b"\0"), _datetime(0, 0, 0)),
    "DATETIME 2024-05-00 00:00:00": (Column("i", DATETIME2, meta=b"\0"), _datetime(2024, 5, 0)),
    "TIMESTAMP 0000-00-00 00:00:00": (Column("j", TIMESTAMP2, meta=b"\0"), bytes(4)),
    "TIMESTAMP(6) 1970-01-01 00:00:00.999999": (Column("m", TIMESTAMP2, meta=b"\6"), b"\0\0\0\0\x0f\x42\x3f"),
    "TIME 838:59:59": (Column("k", TIME2, meta=b"\0"), _time(1, 838, 59, 59)),
    "TIME -00:00:01": (Column("l", TIME2, meta=b"\0"), _time(-1, 0, 0, 1)),
}
SINKS: dict[str, dict[str, Any]] = {
    "debezium": {"format": "debezium"},
    "maxwell": {"format": "maxwell"},
    "canal": {"format": "canal"},
    "canal, protobuf": {"format": "canal", "canal": {"flat_message": False}},
}
DECODERS = [BinlogDecoder, CompiledDecoder] if compiled.available() else [BinlogDecoder]


def written(kind: type[BinlogDecoder], options: dict[str, Any], column: Column, value: Any) -> str:
    """JSON of what the format writes for the column."""
    writer = BinlogWriter()
    table = TableSpec("shop", "odd", (Column("id", 3, nullable=False), column))
    stream = writer.format_description() + writer.insert(table, (1, value))
    sink = StdoutSink.model_validate({"type": "stdout", **options})
    form, topics = formats[sink.format]("t", sink, "mysql"), Topics("{database}.{table}", "t")
    decoder = kind(
        lambda table: form.plan(table, topics.topic(table)),
        position=Position("binlog.000001", 4),
        flavor="mysql",
        framing="file",
        server_error=lambda errno, state, text: SourceError("E2211", text),
    )
    (record,) = (record for batch in [*decoder.feed(stream), *decoder.feed(b"")] for record in batch.records)
    assert record[2] is not None
    return json.dumps(_value(sink, record[2], column.name), ensure_ascii=False)


def _value(sink: StdoutSink, record: bytes, name: str) -> Any:
    if sink.format == "canal" and not sink.canal.flat_message:
        (raw,) = proto.Messages.FromString(proto.Packet.FromString(record).body).messages
        (row,) = proto.RowChange.FromString(proto.Entry.FromString(raw).storeValue).rowDatas
        (column,) = (each for each in row.afterColumns if each.name == name)
        return column.value if column.HasField("value") else None
    message = json.loads(record)
    rows = {"debezium": message.get("after"), "maxwell": message.get("data"), "canal": message.get("data")}
    row = rows[sink.format]
    return (row[0] if isinstance(row, list) else row)[name]


def documented() -> Iterator[tuple[str, list[str]]]:
    text = (TREE / "docs" / "formats.md").read_text()
    section = text.partition("## Values that a format cannot represent\n")[2].partition("\n## ")[0]
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] in VALUES:
            yield cells[0], [re.sub(r"^`(.*)`$", r"\1", cell) for cell in cells[1:]]


DOCUMENTED = dict(documented())


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("kind", DECODERS)
def test_what_is_written_is_what_the_docs_say(kind: type[BinlogDecoder], value: str) -> None:
    found = [written(kind, options, *VALUES[value]) for options in SINKS.values()]
    assert found == DOCUMENTED.get(value), " | ".join([value, *(f"`{each}`" for each in found)])
