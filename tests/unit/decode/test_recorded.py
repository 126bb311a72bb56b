"""Binlog files of real servers: the whole, in pieces, resumed, and damaged."""

import json
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replicator.decode.binlog import event_types
from replicator.errors import DecodeError, SourceError
from replicator.model.position import Position
from tests.data.binlog import read as recorded
from tests.support.long_run import LONG
from tests.unit.decode.binlog_writer import compressed, decoder, packets, records, zipped

PACKED = [
    "mysql_transactions_packed",
    "mysql_anonymous_packed",
    "mysql_unchecked_packed",
    "mariadb_transactions_packed",
]
CASES = ["mysql_transactions", "mysql_anonymous", "mysql_unchecked", "mariadb_transactions", *PACKED]
START = Position("binlog.000002", 4)


def read(case):
    """A recorded file; `_packed`: with its transactions compressed."""
    raw = recorded(case.removesuffix("_packed"))
    if not case.endswith("_packed"):
        return raw
    return raw[:4] + (zipped(raw[4:]) if case.startswith("mariadb") else compressed(raw[4:]))


def flavor(case):
    return case.partition("_")[0]


def outcome(made, pieces):
    """Everything that comes out, and the error that ends it."""
    batches = []
    try:
        for piece in [*pieces, b""]:
            batches += made.feed(piece)
    except SourceError as error:
        return batches, error
    return batches, None


def whole(case, **options):
    return outcome(decoder(position=START, flavor=flavor(case), **options), [read(case)])


def body(case):
    return read(case)[4:]


def columns(value):
    """How many values the last image in a record has."""
    if value is None:
        return None
    image = value.partition(b"#")[0].rpartition(b"[")[2]
    return len(json.loads(b"[" + image))


@pytest.mark.parametrize("case", CASES)
def test_what_comes_out(case):
    batches, error = whole(case)
    assert error is None
    got = [(r[0], r[1] and r[1].decode(), columns(r[2]), r[4]) for r in records(batches)]
    t = lambda number: '["' + number.to_bytes(4, "little").hex() + '"]'  # noqa: E731
    wanted = [
        ("shop.t", t(1), 20, 0),
        ("shop.t", t(2), 20, 1),
        ("shop.t", t(1), 20, 0),
        ("shop.t", t(1), None, 0),
        ("shop.t", t(3), 20, 0),
        ("shop.t", t(2), 20, 0),
        ("shop.t", t(2), None, 0),
        ("shop.t", t(10), 20, 0),
        ("shop.t", t(12), 20, 1),
        ("shop.t", t(10), 20, 2),
        ("shop.t", t(12), 20, 3),
        ("shop.cs", None, 2, 0),
        ("shop.cs", None, 2, 1),
        ("shop.cs", None, 2, 2),
        ("shop.my", t(1), 1, 0),
        ("shop.my", t(2), 1, 1),
        ("shop.my", t(3), 1, 2),
        ("shop.my", t(4), 1, 0),
        ("shop.t", t(40), 20, 0),
    ]
    assert got[: len(wanted)] == wanted
    assert [row[0] for row in got[len(wanted) :]] == {
        "mysql_transactions": ["shop.t", "shop.v"],
        "mariadb_transactions": ["shop.v", "shop.v"],
    }.get(case.removesuffix("_packed"), [])
    assert batches[-1].position.file == "binlog.000003"


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("framing", ["file", "packet"])
def test_cut_anywhere_the_same_comes_out(case, framing):
    raw = read(case) if framing == "file" else packets(body(case))
    wanted, _ = whole(case)
    cuts = {len(raw) // 2, *range(0, len(raw), 7 if LONG else 37)}
    for cut in sorted(cuts):
        made = decoder(position=START, flavor=flavor(case), framing=framing)
        batches, error = outcome(made, [raw[:cut], raw[cut:]])
        assert error is None
        assert records(batches) == records(wanted)
        assert batches[-1].position == wanted[-1].position
        assert sum(batch.rows for batch in batches) == wanted[0].rows
        assert sum(batch.size for batch in batches) == wanted[0].size
        assert sum(batch.transactions for batch in batches) == wanted[0].transactions


@pytest.mark.parametrize("case", CASES)
def test_every_position_on_the_way_resumes_to_the_rest(case):
    """Each batch's position, given to a new decoder with a stream from there, leads to exactly what comes after it."""
    raw = body(case)
    wanted = records(whole(case)[0])
    made = decoder(position=START, flavor=flavor(case))
    head = raw[: int.from_bytes(raw[9:13], "little")]
    resent = head[:13] + bytes(4) + head[17:]  # servers send it again without its end position
    resent = resent[:-4] + crc32(resent[:17] + bytes(2) + resent[19:-4]).to_bytes(4, "little")
    seen = 0
    for at in range(0, len(raw), 23):
        for batch in made.feed(raw[at : at + 23]):
            seen += len(batch.records)
            position = batch.position
            if position.file != START.file:
                continue
            stream = resent + raw[position.offset - 4 :] if position.offset > 4 else raw
            rest, error = outcome(decoder(position=position, flavor=flavor(case)), [stream])
            assert error is None
            assert records(rest) == wanted[seen:]
    assert seen == len(wanted)


@pytest.mark.parametrize(
    ("case", "code", "says"),
    [
        ("mysql_statement", "E2303", "update t set v=v+1"),
        ("mysql_image", "E2304", "shop.t"),
        ("mysql_metadata", "E2306", "shop.t"),
        ("mariadb_statement", "E2303", "update t set v=v+1"),
    ],
)
def test_what_stops_a_task(case, code, says):
    batches, error = whole(case)
    assert error is not None
    assert error.code == code
    assert says in str(error)
    assert error.position.startswith("binlog.000002:")
    assert batches[-1].transactions, "the transactions before it are delivered"


@pytest.mark.parametrize("case", ["mysql_prepared", "mariadb_prepared"])
def test_what_is_prepared_waits(case):
    batches, error = whole(case)
    assert (error, records(batches)) == (None, [])
    (prepared,) = batches[-1].position.prepared
    assert (prepared.xid, prepared.file) == ("X'7832',X'',1", "binlog.000002")


@pytest.mark.parametrize("case", ["mysql_statement", "mysql_image", "mysql_metadata"])
def test_what_does_not_concern_us_does_not_stop_us(case):
    _, error = whole(case, planner=lambda table: None)
    assert error is None


def test_every_truncation_is_an_unfinished_stream():
    raw, wanted = read("mysql_transactions"), records(whole("mysql_transactions")[0])
    for cut in range(0, len(raw), 5):
        batches, error = outcome(decoder(position=START), [raw[:cut]])
        assert error is None
        got = records(batches)
        assert got == wanted[: len(got)]


@pytest.mark.parametrize("case", CASES[:4])
def test_a_file_that_ends_too_early_says_where_and_in_what(case):
    """At every event's start the stream may end, between transactions; anywhere else it is cut short."""
    raw, starts = read(case), {}
    at = 4
    while at < len(raw):
        starts[at] = event_types.name(raw[at + 4])
        at += int.from_bytes(raw[at + 9 : at + 13], "little")
    for cut in sorted({*range(4, len(raw), 11), *starts}):
        made = decoder(position=START, flavor=flavor(case))
        batches = made.feed(raw[:cut])
        start = max(at for at in starts if at <= cut)
        if cut == start and (not batches or batches[-1].boundary or cut == 4):
            continue
        with pytest.raises(DecodeError) as raised:
            made.end()
        assert raised.value.code == "E2302"
        if cut - start > 4:
            assert raised.value.position == f"binlog.000002:{start} ({starts[start]})"
        with pytest.raises(DecodeError):
            made.feed(raw[cut:])


def test_the_end_of_a_connection_inside_an_event_is_no_damage():
    raw = packets(body("mysql_transactions"))
    for cut in range(0, len(raw), 101):
        made = decoder(position=START, framing="packet")
        made.feed(raw[:cut])
        made.end()


@settings(max_examples=200, deadline=2000)
@given(st.data())
def test_damage_never_passes_a_checksum(data):
    case = data.draw(st.sampled_from(["mysql_transactions", "mariadb_transactions", *PACKED[:1], *PACKED[-1:]]))
    raw = bytearray(read(case))
    wanted = records(whole(case)[0])
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(4, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    batches, error = outcome(decoder(position=START, flavor=flavor(case)), [bytes(raw)])
    got = records(batches)
    assert got == wanted[: len(got)]
    assert error is not None or got == wanted[: len(got)]


@settings(max_examples=300, deadline=2000)
@given(st.data())
def test_damage_without_checksums_is_an_error_or_a_value_and_nothing_else(data):
    raw = bytearray(read("mysql_unchecked"))
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(4, len(raw) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(raw)))
    _, error = outcome(decoder(position=START, framing="file"), [bytes(raw[:cut]), bytes(raw[cut:])])
    assert error is None or error.code in ("E2209", "E2301", "E2302", "E2303", "E2304", "E2305", "E2306", "E2307")


@settings(max_examples=200, deadline=2000)
@given(st.lists(st.binary(max_size=60), max_size=6), st.sampled_from(["file", "packet"]))
def test_garbage(pieces, framing):
    outcome(decoder(framing=framing), pieces)
