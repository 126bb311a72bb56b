"""A transaction that is resumed inside, under the configuration of then and under another one."""

import itertools

import pytest

from replicator import compiled
from replicator.decode.binlog import event_types, transaction_payload
from replicator.decode.native.compiled_decoder import CompiledDecoder
from replicator.decode.transactions import batch_collector as collector_module
from replicator.errors import DecodeError
from replicator.model.plan import Each, RecordPlan, TablePlan, Value
from replicator.model.position import Inside, Position
from replicator.model.table import Table
from tests.support.present import present
from tests.unit.decode.binlog_writer import IDS, Log, compressed, hexadecimal, plan, records, server_error
from tests.unit.decode.binlog_writer import decoder as twin
from tests.unit.decode.test_metadata_events import Teller, row
from tests.unit.decode.test_transaction_buffer import planner as late_planner

A, B, C = (Table("shop", name, IDS.columns, (0,)) for name in "abc")
START = Log().at


def native(*, position=None, **options):
    return CompiledDecoder(
        options.pop("planner"),
        position=position or Position("binlog.000001", 4),
        flavor="mysql",
        framing="file",
        server_error=server_error,
        rendering=hexadecimal,
        clock=lambda: 1_000_000_000,
        **options,
    )


@pytest.fixture(params=[twin, native], ids=["twin", "compiled"])
def decoder(request):
    if request.param is native and not compiled.available():
        pytest.skip(compiled.why_not())
    return request.param


def carrying(*names):
    return lambda table: plan(table) if table.name in names else None


def transaction(*tables, log=None):
    """Each table's next row, event by event: 10 of `a`, 20 of `b`, 30 of `c` and so on."""
    log = log or Log()
    log.gtid(1).query("BEGIN")
    numbers = {name: itertools.count(first) for name, first in (("a", 10), ("b", 20), ("c", 30))}
    for place, name in enumerate(tables):
        table = {"a": A, "b": B, "c": C}[name]
        log.map(table, place + 1).rows(event_types.WRITE_ROWS, 1, row(next(numbers[name])), place + 1)
    return log


def ids(batches):
    """(id, number) of each row."""
    return [
        (int.from_bytes(bytes.fromhex(present(record[2])[2:10].decode()), "little"), record[4])
        for record in records(batches)
        if record[0] != "told"
    ]


def feed_all(made, raw):
    batches = made.feed(raw)
    while made.more:
        batches += made.feed(b"")
    return batches


def cut_behind(decoder, log, rule, carried, **options):
    """Where the first rows of `log` leave a position, and what has left."""
    made = decoder(planner=carrying(*carried), rule=rule, **options)
    (part,) = made.feed(log.raw)
    assert not part.boundary
    return part


TABLES = "aabbcab"


@pytest.mark.parametrize("events_done", range(1, len(TABLES)))
@pytest.mark.parametrize("before", ["ab", "a", "abc"])
@pytest.mark.parametrize("after", ["ab", "b", "a", "abc"])
def test_every_change_of_the_tables_at_every_place(decoder, events_done, before, after):
    """Rows behind the place are delivered as the new configuration says, those before it are not."""
    head, whole = transaction(*TABLES[:events_done]), transaction(*TABLES).xid().insert(2, 7)
    part = cut_behind(decoder, head, "-".join(before), before)
    made = decoder(position=part.position, planner=carrying(*after), rule="-".join(after))
    batches = feed_all(made, Log(at=part.position.offset).raw + whole.raw[START - 4 :])
    every = ids(decoder(planner=carrying(*"abc")).feed(whole.raw))
    behind = {number for number, _ in every[events_done:]} | {7}
    names = {"a": 1, "b": 2, "c": 3}
    wanted = [n for n, _ in every if n in behind and any(n // 10 == names[name] for name in after)]
    assert [number for number, _ in ids(batches)] == wanted
    numbers = [number for _, number in ids(batches)]
    assert numbers == sorted(set(numbers)) and all(number >= part.position.rows for number in numbers)
    assert batches[-1].boundary and batches[-1].position.inside is None


def test_the_same_configuration_goes_by_rows_on_any_server(decoder):
    """Another server has cut the rows into other events, at other offsets."""
    part = cut_behind(decoder, transaction("a", "a", "b"), "r", "ab")
    assert (part.position.rows, part.position.inside) == (3, Inside("r", 3))
    log = Log().insert(5, 1).gtid(1).query("BEGIN").map(A).rows(event_types.WRITE_ROWS, 1, row(10) + row(11))
    log.map(B, 2).rows(event_types.WRITE_ROWS, 1, row(20) + row(21), 2).xid()
    start = Log().insert(5, 1).at
    made = decoder(position=part.position, planner=carrying("a", "b"), rule="r")
    assert ids(made.feed(Log(at=start).raw + log.raw[start - 4 :])) == [(21, 3)]


def elsewhere(decoder, part, rule, **options):
    """The same transaction at another place: on another server."""
    log = transaction(*TABLES, log=Log().insert(5, 1)).xid()
    start = Log().insert(5, 1).at
    made = decoder(position=part.position, planner=carrying("b"), rule=rule, **options)
    return made, Log(at=start).raw + log.raw[start - 4 :]


def grouped(table):
    """One record of all rows of an event, as Canal has it."""
    each = RecordPlan(None, (Each((Value(0, "after", "hex"),)),))
    return TablePlan(topic=table.qualified, insert=(each,), update=(each,), delete=(each,), grouped=True)


def told_with_rows(log, *events):
    """Statements behind rows, and rows of `a`, an event each."""
    log.gtid(1).query("BEGIN")
    for rows in events:
        log.add(event_types.ROWS_QUERY, b"\x01INSERT")
        log.map(A).rows(event_types.WRITE_ROWS, 1, b"".join(map(row, rows)))
    return log


@pytest.mark.parametrize("repeats", [False, True])
def test_records_of_whole_events_do_not_go_by_rows_on_another_server(decoder, repeats):
    """The other server has joined two of the events: a record behind row 2 is not to be had."""
    options = {"planner": grouped, "rule": "r", "narrator": Teller("query"), "follows_events": True}
    (part,) = decoder(**options).feed(told_with_rows(Log(), (10,), (11,)).raw)
    whole = told_with_rows(Log().insert(5, 1), (10,), (11, 12), (13,)).xid().raw
    start = Log().insert(5, 1).at
    made = decoder(position=part.position, repeats=repeats, **options)
    raw = Log(at=start).raw + whole[start - 4 :]
    if not repeats:
        with pytest.raises(DecodeError) as caught:
            made.feed(raw)
        assert caught.value.code == "E2313"
        return
    (batch,) = made.feed(raw)
    assert len(batch.records) == 6 and batch.rows == 4, "three statements, and three events of rows"
    assert batch.position.reset == part.position.reset + 1


def test_records_of_whole_events_go_on_in_the_same_log(decoder):
    options = {"planner": grouped, "rule": "r", "narrator": Teller("query"), "follows_events": True}
    (part,) = decoder(**options).feed(told_with_rows(Log(), (10,), (11,)).raw)
    whole = told_with_rows(Log(), (10,), (11,), (12, 13)).xid().raw
    batches = decoder(position=part.position, **options).feed(Log(at=START).raw + whole[START - 4 :])
    assert [record[0] for record in records(batches)] == ["told", "shop.a"] and batches[-1].rows == 2


def test_another_configuration_on_another_server_is_refused(decoder):
    part = cut_behind(decoder, transaction("a", "a", "b"), "old", "ab")
    made, raw = elsewhere(decoder, part, "new")
    with pytest.raises(DecodeError) as caught:
        made.feed(raw)
    assert caught.value.code == "E2313"


def test_where_rows_may_be_repeated_the_transaction_begins_again(decoder):
    part = cut_behind(decoder, transaction("a", "a", "b"), "old", "ab")
    made, raw = elsewhere(decoder, part, "new", repeats=True)
    (batch,) = made.feed(raw)
    assert ids([batch]) == [(20, 0), (21, 1), (22, 2)]
    assert batch.position.reset == part.position.reset + 1, "ordered behind the place inside the transaction"


@pytest.mark.parametrize("repeats", [False, True])
def test_a_position_that_does_not_say_how_its_rows_were_counted(decoder, repeats):
    """As an earlier version wrote it."""
    log = transaction("a", "b").xid()
    made = decoder(
        position=Position("binlog.000001", START, rows=1), planner=carrying("a", "b"), rule="r", repeats=repeats
    )
    if repeats:
        assert ids(made.feed(log.raw)) == [(10, 0), (20, 1)]
        return
    with pytest.raises(DecodeError) as caught:
        made.feed(log.raw)
    assert caught.value.code == "E2313"


def test_a_transaction_with_fewer_events_than_were_delivered(decoder):
    log = transaction("a", "a").xid()
    position = Position("binlog.000001", START, "", 3, inside=Inside("old", 3))
    made = decoder(position=position, planner=carrying("a"), rule="new")
    with pytest.raises(DecodeError) as caught:
        made.feed(Log(at=START).raw + log.raw[START - 4 :])
    assert caught.value.code == "E2302"


@pytest.mark.parametrize(("before", "after"), [((), ("transaction",)), (("transaction",), ()), ((), ("query",))])
def test_messages_come_and_go_and_no_row_with_them(decoder, before, after):
    def log(count):
        made = Log().gtid(1).query("BEGIN")
        for number in range(count):
            made.add(event_types.ROWS_QUERY, b"\x01" + b"INSERT %d" % number)
            made.map(A).rows(event_types.WRITE_ROWS, 1, row(number))
        return made

    part = cut_behind(decoder, log(3), "old", "a", narrator=Teller(*before))
    teller = Teller(*after)
    made = decoder(position=part.position, planner=carrying("a"), rule="new", narrator=teller)
    batches = made.feed(Log(at=START).raw + log(6).xid().raw[START - 4 :])
    assert [number for number, _ in ids(batches)] == [3, 4, 5]
    told = [present(record[2]).decode() for record in records(batches) if record[0] == "told"]
    wanted = {
        ("transaction",): ["end {('shop', 'a'): 6}"],
        ("query",): [f"query INSERT {n}" for n in (3, 4, 5)],
        (): [],
    }
    assert told == wanted[after]
    numbers = [record[4] for record in records(batches)]
    assert numbers == sorted(set(numbers)) and numbers[0] >= part.position.rows


@pytest.mark.parametrize("after", ["ab", "b", "abc"])
def test_inside_a_compressed_transaction(monkeypatch, decoder, after):
    monkeypatch.setattr(transaction_payload, "PIECE", 60)
    raw = compressed(transaction(*TABLES).xid().raw)
    first, *_ = feed_all(decoder(planner=carrying(*"ab"), rule="ab"), raw)
    assert not first.boundary and first.position.inside is not None
    done = first.position.inside.event
    made = decoder(position=first.position, planner=carrying(*after), rule="other")
    rest = feed_all(made, Log(at=START).raw + raw[START - 4 :])
    every = ids(decoder(planner=carrying(*"abc")).feed(transaction(*TABLES).xid().raw))
    names = {"a": 1, "b": 2, "c": 3}
    wanted = [n for n, _ in every[done:] if any(n // 10 == names[name] for name in after)]
    assert [n for n, _ in ids(rest)] == wanted


@pytest.mark.parametrize("after", ["ab", "b", "abc"])
def test_inside_the_commit_of_a_prepared_transaction(monkeypatch, decoder, after):
    """Its events are kept for the tables that are replicated alone; they have the numbers that they have for all."""
    from replicator.decode.transactions import transaction_events

    monkeypatch.setattr(transaction_events, "_PIECE", 0)
    xid = "X'61',X'',1"

    def log():
        made = Log().gtid(1).query(f"XA START {xid}")
        numbers = {name: itertools.count(first) for name, first in (("a", 10), ("b", 20), ("c", 30))}
        for place, name in enumerate(TABLES):
            table = {"a": A, "b": B, "c": C}[name]
            made.map(table, place + 1).rows(event_types.WRITE_ROWS, 1, row(next(numbers[name])), place + 1)
        prepared = b"\0" + b"\x01\0\0\0\x01\0\0\0\0\0\0\0a"
        made.query(f"XA END {xid}").add(event_types.XA_PREPARE, prepared)
        commit = made.at
        return made.gtid(2).query(f"XA COMMIT {xid}"), commit

    raw, commit = log()[0].raw, log()[1]
    parts = [batch for batch in feed_all(decoder(planner=carrying(*"ab"), rule="ab"), raw) if not batch.boundary]
    first = parts[0]
    assert first.position.offset == commit and first.position.inside is not None

    class Again:
        position, framing = Position("binlog.000001", START), "file"
        server_error = staticmethod(server_error)

        def __init__(self):
            self.rest = Log(at=START).raw + raw[START - 4 :]

        def read(self, timeout):
            data, self.rest = self.rest, b""
            return data

        def close(self): ...

    made = decoder(position=first.position, planner=carrying(*after), rule="other", reread=lambda _: Again())
    rest = feed_all(made, Log(at=commit).raw + raw[commit - 4 :])
    every = [10, 11, 20, 21, 30, 12, 22]
    names = {"a": 1, "b": 2, "c": 3}
    behind = every[first.position.inside.event :]
    assert [n for n, _ in ids(rest)] == [n for n in behind if any(n // 10 == names[name] for name in after)]


def test_records_that_waited_for_the_end_leave_in_pieces_that_end_with_events(monkeypatch):
    """Also where a message stands before the rows: a position between the two would lose the rows."""
    monkeypatch.setattr(collector_module, "_MOST_HELD", 600)
    monkeypatch.setattr(collector_module, "_PIECE", 600)
    log = Log().gtid(1).query("BEGIN").map(IDS)
    for number in range(20):
        log.add(event_types.ROWS_QUERY, b"\x01" + b"INSERT %d" % number).rows(event_types.WRITE_ROWS, 1, row(number))
    raw = log.xid().raw
    batches = feed_all(twin(planner=late_planner, rule="old", narrator=Teller("query")), raw)
    assert len(batches) > 3
    seen = 0
    for batch in batches[:-1]:
        seen += sum(record[0] != "told" for record in batch.records)
        made = twin(position=batch.position, planner=late_planner, rule="new")
        rest = records(feed_all(made, Log(at=START).raw + raw[START - 4 :]))
        assert [int(present(record[2]).split()[0]) for record in rest] == list(range(seen, 20))
