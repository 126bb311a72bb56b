import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.decode.binlog.framing import FileFraming, PacketFraming
from replicator.errors import DecodeError, SourceError
from tests.unit.decode.binlog_writer import event, packets, server_error

EVENTS = [event(2, bytes(size)) for size in (0, 1, 40, 300)]


def cut(framing, pieces):
    return [buffer[start:end] for piece in pieces for buffer, start, end in framing.split(piece)]


def framings():
    raw = b"".join(EVENTS)
    return [
        pytest.param(lambda: PacketFraming(server_error), packets(raw), id="packet"),
        pytest.param(FileFraming, b"\xfebin" + raw, id="file"),
        pytest.param(FileFraming, raw, id="file-without-magic"),
    ]


@pytest.mark.parametrize(("make", "raw"), framings())
def test_cut_at_every_byte(make, raw):
    assert cut(make(), [raw]) == EVENTS
    assert cut(make(), [raw[at : at + 1] for at in range(len(raw))]) == EVENTS
    for at in range(len(raw) + 1):
        assert cut(make(), [raw[:at], b"", raw[at:]]) == EVENTS


@pytest.mark.parametrize(("make", "raw"), framings())
def test_whole_events_are_not_copied(make, raw):
    assert all(buffer is raw for buffer, _, _ in make().split(raw))


@pytest.mark.parametrize("size", [0xFFFFFF - 20, 0xFFFFFF - 19, 0xFFFFFF, 0xFFFFFF * 2 - 20, 0xFFFFFF * 2])
def test_events_over_16_mib(size):
    big = event(2, bytes(size - 19 - 4))
    raw = packets(EVENTS[0] + big + EVENTS[1])
    pieces = [raw[at : at + (1 << 20)] for at in range(0, len(raw), 1 << 20)]
    assert [len(found) for found in cut(PacketFraming(server_error), pieces)] == [len(EVENTS[0]), size, len(EVENTS[1])]


def packet(payload):
    return len(payload).to_bytes(3, "little") + b"\x01" + payload


def test_error_packet():
    framing = PacketFraming(server_error)
    raw = packets(EVENTS[0]) + packet(b"\xff" + struct.pack("<H", 1236) + b"#HY000" + "verlört".encode())
    found = framing.split(raw)
    next(found)
    with pytest.raises(SourceError, match="1236 HY000 verlört"):
        next(found)


def test_end_packet():
    framing = PacketFraming(server_error)
    assert cut(framing, [packets(EVENTS[0]) + packet(b"\xfe\0\0\0\0")]) == EVENTS[:1]
    assert framing.ended


@pytest.mark.parametrize("payload", [b"", b"\0", b"\0" + bytes(18), b"\x01" + bytes(30), b"\xfe" + bytes(30)])
def test_packets_that_are_no_events(payload):
    with pytest.raises(DecodeError, match="E2302"):
        cut(PacketFraming(server_error), [packet(payload)])


def test_file_events_have_at_least_a_header():
    with pytest.raises(DecodeError, match="E2302"):
        cut(FileFraming(), [bytes(9) + b"\x05" + bytes(9)])


def test_a_timestamp_like_the_magic_is_an_event_later_on():
    late = b"\xfebin" + EVENTS[1][4:]
    assert cut(FileFraming(), [b"\xfebin" + EVENTS[0] + late]) == [EVENTS[0], late]


@given(st.lists(st.binary(max_size=80), max_size=8))
def test_hostile_bytes(pieces):
    for framing in (PacketFraming(server_error), FileFraming()):
        try:
            for buffer, start, end in (found for piece in pieces for found in framing.split(piece)):
                assert 0 <= start < end <= len(buffer)
        except SourceError:
            pass
