import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.errors import SourceError
from replicator.model.gtid import MAX_GNO, GtidSet, MariaDBPosition

A = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
B = "b0000000-0000-0000-0000-000000000000"
TSIDS = (A, B, f"{A}:tag_1", f"{A}:zebra", f"{B}:tag_1")

members = st.frozensets(st.tuples(st.sampled_from(TSIDS), st.integers(1, 40)), max_size=60)


def made(elements):
    result = GtidSet()
    for tsid, number in elements:
        result.add(tsid, number)
    return result


def elements(gtids):
    return {(tsid, number) for tsid in TSIDS for number in range(1, 45) if gtids.contains(tsid, number)}


@given(members)
def test_members_are_what_was_added_in_any_order(wanted):
    assert elements(made(wanted)) == wanted
    assert elements(made(sorted(wanted, reverse=True))) == wanted


@given(members)
def test_text_and_bytes_are_read_back(wanted):
    gtids = made(wanted)
    assert GtidSet.parse(str(gtids)) == gtids
    assert GtidSet.decode(gtids.encode()) == gtids
    assert bool(gtids) == bool(wanted)


@given(members, members)
def test_set_operations(first, second):
    one, other = made(first), made(second)
    assert elements(one.union(other)) == first | second
    assert elements(one.subtract(other)) == first - second
    assert one.subset(other) == (first <= second)
    assert elements(one) == first, "the operations leave their operands alone"
    assert one.union(other) == other.union(one)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("", ""),
        (f"{A}:1", f"{A}:1"),
        (f"{A}:1-5:7-9", f"{A}:1-5:7-9"),
        (f"{A}:7-9:1-5:6", f"{A}:1-9"),
        (f"{B}:1,\n{A.upper()}:2 , {B}:2", f"{A}:2,{B}:1-2"),
        (f"{A.replace('-', '')}:3", f"{A}:3"),
        (f"{A}:1-3:tag_1:1-2:5:Zebra:9", f"{A}:1-3:tag_1:1-2:5:zebra:9"),
        (f"{A}:tag_1:4", f"{A}:tag_1:4"),
        (f"{A}:{MAX_GNO}", f"{A}:{MAX_GNO}"),
    ],
)
def test_printed_as_the_server_prints_it(text, printed):
    assert str(GtidSet.parse(text)) == printed


@pytest.mark.parametrize(
    "text",
    [
        A,
        f"{A}:",
        f"{A}:0",
        f"{A}:5-3",
        f"{A}:1-",
        f"{A}:x-y",
        f"{A}:tag",
        f"{A}:1:tag",
        f"{A}:1:a:b:2",
        f"{A}:{MAX_GNO + 1}",
        f"{A}:9tag:1",
        "nonsense:1",
        "0-1-5",
    ],
)
def test_refuses_what_is_no_set(text):
    with pytest.raises(SourceError, match="E2209"):
        GtidSet.parse(text)


def test_untagged_bytes_are_the_old_layout():
    raw = GtidSet.parse(f"{A}:1-5").encode()
    assert raw == (1).to_bytes(8, "little") + bytes.fromhex(A.replace("-", "")) + b"".join(
        number.to_bytes(8, "little") for number in (1, 1, 6)
    )


@given(st.binary(max_size=120))
def test_hostile_bytes_are_refused_or_read(raw):
    try:
        GtidSet.decode(raw)
    except SourceError as error:
        assert error.code == "E2209"


@given(members, st.data())
def test_every_truncation_is_refused(wanted, data):
    raw = made(wanted).encode()
    cut = data.draw(st.integers(0, len(raw) - 1))
    if cut >= 8 or wanted:
        with pytest.raises(SourceError):
            GtidSet.decode(raw[:cut])


gtids = st.dictionaries(
    st.integers(0, 3), st.tuples(st.integers(0, (1 << 32) - 1), st.integers(0, (1 << 64) - 1)), max_size=4
)


def position(domains):
    result = MariaDBPosition()
    for domain, (server, sequence) in domains.items():
        result.add(domain, server, sequence)
    return result


@given(gtids)
def test_mariadb_text_is_read_back(domains):
    assert MariaDBPosition.parse(str(position(domains))) == position(domains)


@given(gtids, gtids)
def test_mariadb_union_holds_both(first, second):
    one, other = position(first), position(second)
    both = one.union(other)
    assert one.subset(both)
    assert other.subset(both)
    assert one == position(first)


def test_mariadb_keeps_the_last_of_each_domain():
    gtid = MariaDBPosition.parse("1-2-5, 0-1-100")
    gtid.add(0, 9, 101)
    assert str(gtid) == "0-9-101,1-2-5"
    assert gtid.contains(0, 100)
    assert not gtid.contains(0, 102)
    assert not gtid.contains(7, 1)


@pytest.mark.parametrize("text", ["0-1", "0-1-2-3", "a-1-2", "4294967296-1-1", "0-1-5,0-2-6", f"{A}:1"])
def test_mariadb_refuses_what_is_no_position(text):
    with pytest.raises(SourceError, match="E2209"):
        MariaDBPosition.parse(text)


def test_a_printed_set_that_grows_is_printed_anew() -> None:
    """What has not changed is kept as text."""
    other, own = "3e11fa47-71ca-11e1-9e33-c80aa9429562", "4e11fa47-71ca-11e1-9e33-c80aa9429562"
    made = GtidSet.parse(f"{other}:1-3:5")
    assert str(made) == f"{other}:1-3:5"
    made.add(own, 1)
    assert str(made) == f"{other}:1-3:5,{own}:1"
    made.add(own, 2)
    assert str(made) == f"{other}:1-3:5,{own}:1-2"
    made.add(other, 4)
    assert str(made) == f"{other}:1-5,{own}:1-2"
    made.update(GtidSet.parse(f"{other}:9"))
    assert str(made) == f"{other}:1-5:9,{own}:1-2" == str(made.copy())


@given(first=st.sets(st.integers(1, 40)), second=st.sets(st.integers(1, 40)))
def test_subtracting_is_what_it_is_for_sets_of_numbers(first: set[int], second: set[int]) -> None:
    tsid = "3e11fa47-71ca-11e1-9e33-c80aa9429562"

    def made(numbers: set[int]) -> GtidSet:
        result = GtidSet()
        for number in numbers:
            result.add(tsid, number)
        return result

    assert made(first).subtract(made(second)) == made(first - second)
    assert made(first).subset(made(second)) == (first <= second)


def test_sets_of_many_intervals_are_compared_in_one_pass() -> None:
    many = GtidSet.parse("3e11fa47-71ca-11e1-9e33-c80aa9429562:" + ":".join(str(n) for n in range(1, 80_000, 2)))
    began = time.monotonic()
    assert many.subset(many.copy())
    assert time.monotonic() - began < 60, "minutes when each interval is held against each"
