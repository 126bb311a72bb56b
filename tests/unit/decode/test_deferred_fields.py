"""What is only known when a transaction ends."""

import pytest
from msgspec import structs

from replicator.decode.plan.deferred_fields import DeferredText, deferred_text, fill
from replicator.decode.transactions.transaction_state import TransactionState
from replicator.model.plan import Deferred, RecordPlan, TablePlan, Text, Value, Var, Variable
from tests.support.present import present

LATE = Deferred(
    (Text('"xid":'), Var("xid"), Text(',"xoffset":'), Var("offset")),
    (Text('"xid":'), Var("xid"), Text(',"commit":true,"end":'), Var("end_pos")),
)


def plan(value, *, key=None, headers=(), route=None):
    return TablePlan("x", (RecordPlan(key, value, headers, route),), (), ())


def filled(records, late=LATE, *, last=True, context=None):
    return fill(records, DeferredText(late), xid=7, end_pos=99, context=context or TransactionState(), last=last)


def record(row, value, key=None, *more):
    return ("x", key, value, b"here", row, (), *more)


def test_rows_and_the_last_one():
    records = [record(0, b"{\0}"), record(1, b"{\0}", b"k"), record(2, b"{\0}", b"k\0", b"route")]
    assert filled(records) == [
        record(0, b'{"xid":7,"xoffset":0}'),
        record(1, b'{"xid":7,"xoffset":1}', b"k"),
        record(2, b'{"xid":7,"commit":true,"end":99}', b'k"xid":7,"commit":true,"end":99', b"route"),
    ]


def test_a_piece_of_a_transaction_has_no_last_row():
    assert filled([record(0, b"\0")], last=False) == [record(0, b'"xid":7,"xoffset":0')]


def test_all_records_of_the_last_row_and_what_follows_without_a_place():
    records = [record(4, b"\0"), record(5, b"\0"), record(5, b"\0"), record(5, None, b"k"), record(6, b"end")]
    texts = [found[2] for found in filled(records)]
    end = b'"xid":7,"commit":true,"end":99'
    assert texts == [b'"xid":7,"xoffset":4', end, end, None, b"end"]


def test_what_it_may_print():
    names: tuple[Variable, ...] = ("gtid", "executed", "tsid", "file", "server_id", "thread", "order", "offset")
    steps = tuple(step for name in names for step in (Text(f" {name}="), Var(name)))
    context = TransactionState()
    context.gtid_json, context.executed_json, context.tsid_json, context.file_json = (
        '"u:1"',
        '"u:1-5"',
        '"u"',
        '"ä"'.encode().decode("latin-1"),
    )
    context.server_id, context.thread = 3, 4
    (found,) = filled([record(8, b"\0")], Deferred(steps, steps), context=context)
    assert found[2].decode() == ' gtid="u:1" executed="u:1-5" tsid="u" file="ä" server_id=3 thread=4 order=9 offset=8'
    with pytest.raises(ValueError, match="table_order"):
        filled([record(8, b"\0")], Deferred((), (Var("table_order"),)))
    (first,) = fill([record(0, b"\0")], DeferredText(LATE), xid=None, end_pos=1, context=context, last=False)
    assert present(first[2]).startswith(b'"xid":null')


def test_the_plan_says_whether_it_waits():
    assert deferred_text(plan((Text("a"),))) is None
    assert deferred_text(plan((Text("a"), LATE), key=(LATE,))) is not None


@pytest.mark.parametrize(
    "wrong",
    [
        plan((LATE, LATE)),
        plan((LATE,), key=(Deferred((), ()),)),
        plan((LATE, Text("\0"))),
        plan((LATE, Value(0, "after", "r", null="\0"))),
        plan((LATE,), headers=(("h", (LATE,)),)),
        plan((), route=(LATE,)),
        structs.replace(plan((LATE,)), encode=lambda key, value: (key, value)),
    ],
)
def test_plans_that_can_not_be(wrong):
    with pytest.raises(ValueError, match="Deferred"):
        deferred_text(wrong)
