"""Transactions and statements that tasks have written are left out where the configuration says so."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pytest

from replicator.decode.binlog import event_types
from replicator.decode.decoder import BinlogDecoder
from replicator.decode.native.compiled_decoder import CompiledDecoder, decoder_class
from replicator.decode.transactions.loop_guard import LoopGuard
from replicator.errors import DecodeError
from replicator.model import types
from replicator.model.bookkeeping import statement_mark
from replicator.model.plan import TablePlan
from replicator.model.position import Position
from replicator.model.table import Column, Table
from tests.unit.decode.binlog_writer import IDS, Log, compressed, hexadecimal, ids, plan, row, server_error
from tests.unit.decode.test_metadata_events import Teller
from tests.unit.decode.test_xa import prepare

POSITIONS = Table(
    "replicator",
    "replicator_position",
    (
        Column(0, "installation", types.VARCHAR, 256, nullable=False),
        Column(1, "task", types.VARCHAR, 1020, nullable=False),
        Column(2, "sequence", types.LONG, nullable=False),
    ),
    (0, 1),
)
Make = Callable[..., BinlogDecoder]


@pytest.fixture(params=[BinlogDecoder, CompiledDecoder], ids=["twin", "compiled"])
def make(request: pytest.FixtureRequest) -> Make:
    if request.param is CompiledDecoder and decoder_class() is BinlogDecoder:
        pytest.skip("the compiled code is not there")

    def made(tasks: tuple[str, ...] | None = None, **options: Any) -> BinlogDecoder:
        decoder: BinlogDecoder = request.param(
            only_shop,
            position=Position("binlog.000001", 4),
            flavor="mysql",
            framing="file",
            server_error=server_error,
            rendering=hexadecimal,
            clock=lambda: 1_000_000_000,
            **{"guard": LoopGuard(tasks), **options},
        )
        return decoder

    return made


def only_shop(table: Table) -> TablePlan | None:
    return plan(table) if table.database == "shop" else None


def position_row(task: str, sequence: int = 1, installation: str = "i") -> bytes:
    texts = b"".join(struct.pack("<H", len(text)) + text for text in (installation.encode(), task.encode()))
    return b"\0" + texts + struct.pack("<i", sequence)


def fence(log: Log, task: str) -> Log:
    log.map(POSITIONS, 9)
    return log.rows(event_types.UPDATE_ROWS, 3, position_row(task) + position_row(task, 2), 9)


def by_task(log: Log, number: int, task: str, *values: int) -> Log:
    fence(log.gtid(number).query("BEGIN"), task)
    if values:
        log.map(IDS).rows(event_types.WRITE_ROWS, 1, b"".join(map(row, values)))
    return log.xid()


def test_transactions_of_all_tasks_are_left_out_and_the_position_moves(make: Make) -> None:
    log = by_task(by_task(Log().insert(1, 10), 2, "b_to_a", 11, 12), 3, "other").insert(4, 13)
    (batch,) = make().feed(log.raw)
    assert ids([batch]) == [(10, 0), (13, 0)]
    assert (batch.rows, batch.transactions, batch.skipped) == (2, 4, 2)
    assert batch.position.offset == log.at


def test_only_those_of_named_tasks(make: Make) -> None:
    log = Log()
    for number, task in enumerate(("b_to_a", "c_to_a", "b_to", "b_to_a2", "b_to_a"), 1):
        by_task(log, number, task, number)
    batches = make(("b_to_a", "x")).feed(log.raw)
    assert [value for value, _ in ids(batches)] == [2, 3, 4]
    assert sum(batch.skipped for batch in batches) == 2


@pytest.mark.parametrize("one_phase", [False, True])
def test_prepared_transactions(make: Make, one_phase: bool) -> None:
    """Those of a task's further connections, whose rows in the position table are `TASK/NUMBER`."""
    log = Log()
    for number, task in enumerate(("b_to_a/1", "c_to_a/1", "b_to_a"), 1):
        xid, gtrid = f"X'7831{number:02d}',X'',1", bytes((0x78, 0x31, number))
        fence(log.gtid(2 * number).query(f"XA START {xid}"), task)
        log.map(IDS).rows(event_types.WRITE_ROWS, 1, row(number))
        prepare(log.query(f"XA END {xid}"), one_phase, gtrid)
        if not one_phase:
            log.gtid(2 * number + 1).query(f"XA COMMIT {xid}")
    batches = make(("b_to_a",)).feed(log.insert(9, 9).raw)
    assert [value for value, _ in ids(batches)] == [2, 9]
    assert sum(batch.skipped for batch in batches) == 2


def test_without_a_guard_everything_is_delivered(make: Make) -> None:
    (batch,) = make(guard=None).feed(by_task(Log(), 1, "b_to_a", 11).raw)
    assert (ids([batch]), batch.skipped) == ([(11, 0)], 0)


def test_a_position_that_is_changed_later_in_a_transaction_is_of_no_concern(make: Make) -> None:
    """Somebody has edited the row together with other tables."""
    log = Log().gtid(1).query("BEGIN").map(IDS).rows(event_types.WRITE_ROWS, 1, row(1))
    fence(log, "b_to_a").map(IDS).rows(event_types.WRITE_ROWS, 1, row(2)).xid()
    assert [value for value, _ in ids(make().feed(log.raw))] == [1, 2]


def test_a_skipped_transaction_in_pieces(make: Make) -> None:
    log = fence(Log().gtid(1).query("BEGIN"), "b_to_a").map(IDS)
    decoder = make(("b_to_a",))
    batches = decoder.feed(log.raw)
    for value in range(3):
        rest = Log(at=log.at, described=False).rows(event_types.WRITE_ROWS, 1, row(value))
        batches += decoder.feed(rest.raw)
        log = rest
    end = Log(at=log.at, described=False).xid().insert(2, 7)
    batches += decoder.feed(end.raw)
    assert [value for value, _ in ids(batches)] == [7]
    assert sum(batch.skipped for batch in batches) == 1


def test_in_a_compressed_transaction(make: Make) -> None:
    log = compressed(by_task(Log(), 1, "b_to_a", 5).insert(2, 6).raw)
    assert [value for value, _ in ids(make(("b_to_a",)).feed(log))] == [6]


def test_another_table_of_that_name_marks_nothing(make: Make) -> None:
    other = Table("crm", "replicator_position", IDS.columns, (0,))
    log = Log().gtid(1).query("BEGIN").map(other, 9).rows(event_types.WRITE_ROWS, 1, row(1), 9)
    log.map(IDS).rows(event_types.WRITE_ROWS, 1, row(2)).xid()
    assert [value for value, _ in ids(make().feed(log.raw))] == [2]


@pytest.mark.parametrize(
    ("columns", "image"),
    [(3, b"\0\xff\xff"), (2, position_row("b_to_a")), (3, b"\0\1\0i\xff\0b")],
    ids=["length beyond the row", "another number of columns", "cut"],
)
def test_an_unreadable_key_fails_the_task(make: Make, columns: int, image: bytes) -> None:
    log = Log().gtid(1).query("BEGIN").map(POSITIONS, 9).rows(event_types.WRITE_ROWS, columns, image, 9).xid()
    decoder = make(("b_to_a",))
    with pytest.raises(DecodeError) as caught:
        for _ in range(2):
            decoder.feed(log.raw)
            log = Log(described=False)
    assert caught.value.code == "E2280"


def test_statements_are_known_by_their_connection(make: Make) -> None:
    log = Log().gtid(1).query("ALTER TABLE t ADD a INT", thread=statement_mark("b_to_a"))
    log.gtid(2).query("ALTER TABLE t ADD b INT", thread=statement_mark("c_to_a"))
    log.gtid(3).query("ALTER TABLE t ADD c INT", thread=77)

    def told(tasks: tuple[str, ...] | None, **options: Any) -> list[bytes | None]:
        teller = Teller("statement")
        batches = make(tasks, narrator=teller, **options).feed(log.raw)
        assert sum(batch.transactions for batch in batches) == 3
        return [record[2] for batch in batches for record in batch.records]

    assert len(told(None)) == 1
    assert len(told(("b_to_a",))) == 2
    assert len(told(None, guard=None)) == 3
