from __future__ import annotations

import struct
import zlib

import pytest

from replicator.errors import SourceError
from replicator.source.binlog_layout import (
    MAGIC,
    artificial_rotate,
    format_description,
    has_checksum,
    opening,
    packets,
    split_events,
    starts_transaction,
)
from tests.support.binlog_writer import ITEMS, BinlogWriter


@pytest.mark.parametrize("checksum", [True, False])
def test_the_description_is_found_and_tells_of_checksums(checksum: bool) -> None:
    event = BinlogWriter(checksum=checksum).format_description()
    found = format_description("binlog.000001", MAGIC + event + b"more")
    assert found == event
    assert has_checksum(found) is checksum


@pytest.mark.parametrize("head", [b"", b"\xfebin", b"not a binlog file at all, not at all", MAGIC + bytes(40)])
def test_what_is_no_binlog_file_is_refused(head: bytes) -> None:
    with pytest.raises(SourceError) as raised:
        format_description("x", head)
    assert raised.value.code == "E2302"


@pytest.mark.parametrize("checksum", [True, False])
def test_an_artificial_rotate_names_file_and_offset(checksum: bool) -> None:
    event = artificial_rotate("binlog.000042", 4711, BinlogWriter(checksum=checksum).format_description())
    timestamp, kind, _, size, end, flags = struct.unpack_from("<IBIIIH", event)
    assert (timestamp, kind, size, end, flags) == (0, 4, len(event), 0, 0x20)
    body = event[19:-4] if checksum else event[19:]
    assert body == struct.pack("<Q", 4711) + b"binlog.000042"
    if checksum:
        assert struct.unpack("<I", event[-4:])[0] == zlib.crc32(event[:-4])


@pytest.mark.parametrize("size", [1, 2, 0xFFFFFE, 0xFFFFFF, 0x1000000, 2 * 0xFFFFFF, 2 * 0xFFFFFF + 1])
def test_packets_split_at_16_megabytes(size: int) -> None:
    """The last packet is shorter than the largest one, even when that leaves it empty."""
    data, at, lengths = packets(bytes(size - 1)), 0, []
    while at < len(data):
        lengths.append(int.from_bytes(data[at : at + 3], "little"))
        at += 4 + lengths[-1]
    assert at == len(data)
    assert sum(lengths) == size
    assert all(length == 0xFFFFFF for length in lengths[:-1])
    assert lengths[-1] < 0xFFFFFF


@pytest.mark.parametrize("checksum", [True, False])
def test_a_stream_that_begins_behind_the_description_repeats_it_without_its_position(checksum: bool) -> None:
    description = BinlogWriter(checksum=checksum).format_description()
    at_start, later = opening("b.000001", 4, MAGIC + description), opening("b.000001", 999, MAGIC + description)
    assert len(split_events(at_start)) == 1
    _, repeated = split_events(later)
    assert repeated[13:17] == bytes(4)
    assert repeated[17:-4] == description[17:-4]
    assert struct.unpack("<I", repeated[-4:])[0] == zlib.crc32(repeated[:-4])


def test_only_the_first_event_of_a_transaction_starts_one() -> None:
    writer = BinlogWriter()
    found = []
    writer.format_description()
    start = writer.offset
    for event in split_events(writer.insert(ITEMS, (1, "a"))):
        found.append(starts_transaction(event[:19], start))
        assert not starts_transaction(event[:19], start + 1)
        assert not starts_transaction(event[:18], start)
        start += len(event)
    assert found == [True, False, False, False, False]
