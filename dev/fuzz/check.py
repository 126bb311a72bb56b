"""What must hold for any bytes: see `check`."""

from __future__ import annotations

import zlib
from typing import Any, Final

from dev.fuzz.case import Case
from replicator.config.task import StdoutSink
from replicator.decode.decoder import BinlogDecoder
from replicator.decode.native.compiled_decoder import CompiledDecoder
from replicator.encode import formats
from replicator.encode.avro import AvroDebezium
from replicator.encode.avro.registry import Registry
from replicator.encode.row_images import RowImages
from replicator.encode.topics import Topics
from replicator.errors import ReplicatorError, SourceError
from replicator.model.position import Position
from replicator.model.target_table import TargetTables
from replicator.pipeline.ports import Format

_AVRO: Final = {"converter": "avro", "schema_registry": {"url": "http://registry"}}
IMAGES: Final = "row_images"
"""The format of sinks that are databases."""
SINKS: Final[tuple[dict[str, Any], ...]] = (
    {"format": "debezium"},
    {"format": "maxwell", "maxwell": {"output_ddl": True, "output_row_query": True, "output_primary_keys": True}},
    {"format": "canal"},
    {"format": "canal", "canal": {"flat_message": False}},
    {"format": "debezium", "debezium": {"schemas_enable": True, "provide_transaction_metadata": True}},
    {"format": "debezium", "debezium": _AVRO},
    {
        "format": "debezium",
        "debezium": {
            **_AVRO,
            "provide_transaction_metadata": True,
            "time_precision_mode": "connect",
            "decimal_handling_mode": "double",
            "binary_handling_mode": "hex",
            "field_name_adjustment_mode": "avro",
        },
    },
    {"format": IMAGES},
)
_NOW: Final = 1_700_000_000_123_456_789
_TYPE_AT: Final = 4


class Schemas(Registry):
    """A registry in memory. An id is the checksum of its subject and schema, so that records tell both."""

    def id(self, subject: str, schema: str) -> int:
        return zlib.crc32(f"{subject} {schema}".encode()) >> 1


class Broken(AssertionError):
    """The decoders differ, or something came of damaged bytes."""


def check(case: Case) -> None:
    """Both decoders end with records and a coded error, or without one, and with the same; and of a stream with
    checksums no record comes of a damaged event.

    Raises:
        Broken
    """
    twin, ours = outcome(BinlogDecoder, case), outcome(CompiledDecoder, case)
    if twin != ours:
        raise Broken(_difference(twin, ours))
    if case.damage and case.checksums and not _describes(case):
        _check_prefix(case, twin)


def outcome(kind: type[BinlogDecoder], case: Case) -> list[Any]:
    """Every batch, the error, counters and position. Any other exception than ReplicatorError is passed on."""
    options = SINKS[case.form % len(SINKS)]
    form = _format(options, case.flavor)
    topics = Topics("{task}.{database}.{table}", "t")
    decoder = kind(
        lambda table: form.plan(table, topics.topic(table)),
        position=Position("binlog.000001", 4),
        flavor=case.flavor,
        framing=case.framing,
        server_error=lambda errno, state, text: SourceError("E2211", f"{errno} {state} {text}"),
        narrator=form,
        row_image=case.row_image,
        clock=lambda: _NOW,
    )
    found: list[Any] = []
    try:
        for piece in [*case.pieces(), b""]:
            found += map(_plain, decoder.feed(piece))
            while decoder.more:
                found += map(_plain, decoder.feed(b""))
    except ReplicatorError as error:
        found.append(("error", type(error).__name__, error.to_dict()))
    return [*found, ("end", dict(decoder.counters), decoder.position)]


def _format(options: dict[str, Any], flavor: str) -> Format:
    if options["format"] == IMAGES:
        return RowImages(TargetTables())
    sink = StdoutSink.model_validate({"type": "stdout", **options})
    registry = sink.debezium.schema_registry
    if sink.format == "debezium" and registry is not None:
        return AvroDebezium("t", sink, flavor, Schemas(registry))
    return formats[sink.format]("t", sink, flavor)


def _plain(batch: Any) -> tuple[Any, ...]:
    records = list(batch.records)
    return records, batch.position, batch.boundary, batch.rows, batch.transactions, batch.size, batch.source_ms


def _records(found: list[Any]) -> list[Any]:
    return [record for part in found if part[0] not in ("error", "end") for record in part[0]]


def _check_prefix(case: Case, damaged: list[Any]) -> None:
    """Against a stream that ends in front of the damage, not against the whole one: that may go on with a ROLLBACK or
    an error, which drop what has left here because the damaged event seemed to be longer, and its rest was waited for.
    """
    got, before = _records(damaged), _records(outcome(BinlogDecoder, case.before_damage()))
    if got != before[: len(got)]:
        raise Broken(f"records of damaged bytes: {_difference(before[: len(got)], got)}")


def _describes(case: Case) -> bool:
    """The damage is where the stream says whether it has checksums, or in what a packet has around its event."""
    return case.framing == "packet" or case.at % max(1, len(case.stream())) < _described(case)


def _described(case: Case) -> int:
    events = case.raw()
    kinds = [event[_TYPE_AT] for event in events]
    return sum(map(len, events[: len(kinds) - kinds[::-1].index(15)])) if 15 in kinds else len(b"".join(events))


def _difference(one: list[Any], other: list[Any]) -> str:
    for at, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return f"part {at}:\n  {left!r:.2000}\n  {right!r:.2000}"
    return f"{len(one)} parts and {len(other)}:\n  {one[-1]!r:.1000}\n  {other[-1]!r:.1000}"
