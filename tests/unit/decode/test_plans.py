"""What plans can say: objects without some of their members, groups, routes, variables."""

import pytest
from msgspec import structs

from replicator.decode.plan.compiler import compile_rows
from replicator.decode.renderers.contract import Rendering
from replicator.decode.transactions.transaction_state import TransactionState
from replicator.model import types
from replicator.model.batch import Record
from replicator.model.plan import Deferred, Each, Member, Members, RecordPlan, TablePlan, Text, Value, Var, Variable
from replicator.model.table import Column, Table
from tests.support.present import present
from tests.unit.decode.binlog_writer import hexadecimal
from tests.unit.decode.test_compiler import header, image, run

TABLE = Table(
    "shop",
    "t",
    (
        Column(0, "id", types.LONG, nullable=False),
        Column(1, 'nä"me', types.VARCHAR, 20),
        Column(2, "n", types.LONG),
        Column(3, "d", types.DOUBLE, 8, nullable=False),
    ),
    (0,),
)
ZERO, MINUS_ZERO = bytes(8), bytes(7) + b"\x80"


def members(image, **options):
    renderers = ("hex", "text", "hex", "hex")
    return Members(tuple(Member(c.name, Value(c.index, image, renderers[c.index])) for c in TABLE.columns), **options)


def row(name=b"x", n=b"nnnn", d=ZERO, key=b"kkkk"):
    return image(TABLE, [key, name, n, d])


def updates(plan, *images, first=0, context=None):
    out, _ = run(compile_rows(plan, TABLE, "update", hexadecimal), TABLE, 2, b"".join(images), row=first)
    return out


def values(*template, images, **options):
    plan = TablePlan("x", (), (RecordPlan(None, template),), (), **options)
    return [record[2].decode() for record in updates(plan, *images)]


def test_members_that_did_not_change():
    old = members("before", changed=True, before=',"old":', empty="")
    images = [row(), row(), row(name=None), row(), row(), row(n=None), row(d=ZERO), row(d=MINUS_ZERO)]
    assert values(Text("{"), old, Text("}"), images=images) == [
        "{}",
        '{,"old":{"nä\\"me":null}}',
        '{,"old":{"n":"6e6e6e6e"}}',
        '{,"old":{"d":"0000000000000000"}}',
    ]


def test_zero_and_minus_zero_differ():
    """They are equal as numbers, and for a renderer that takes numbers."""

    def numbers(name, column, table):
        return Rendering("<d", "str(v)") if column.type == types.DOUBLE else hexadecimal(name, column, table)

    plan = TablePlan("x", (), (RecordPlan(None, (members("before", changed=True),)),), (), keys=(3,), rekey=())
    moved = row() + row(d=MINUS_ZERO)
    out, _ = run(compile_rows(plan, TABLE, "update", numbers), TABLE, 2, moved)
    assert out == []
    out, _ = run(compile_rows(structs.replace(plan, rekey=None), TABLE, "update", numbers), TABLE, 2, moved)
    assert [record[2] for record in out] == [b'{"d":0.0}']


def test_members_that_are_null():
    after = members("after", nulls=False)
    images = [row(), row(name=None, n=None), row(), row(n=None)]
    assert values(after, images=images) == [
        '{"id":"6b6b6b6b","d":"0000000000000000"}',
        '{"id":"6b6b6b6b","nä\\"me":"x","d":"0000000000000000"}',
    ]


def test_all_members():
    assert values(members("after"), images=[row(), row(n=None)]) == [
        '{"id":"6b6b6b6b","nä\\"me":"x","n":null,"d":"0000000000000000"}'
    ]
    assert values(Members((), before="no", empty="none"), images=[row(), row()]) == ["none"]


def test_what_is_not_printed_is_not_rendered():
    seen = []

    def watched(name, column, table):
        rendering = hexadecimal(name, column, table)
        made = f"seen_{column.index}"

        def note(text):
            seen.append(column.name)
            return text

        return type(rendering)(rendering.cut, f"{made}({rendering.expression})", {made: note})

    plan = TablePlan("x", (), (RecordPlan(None, (members("before", changed=True, nulls=False),)),), ())
    body = row() + row(n=b"mmmm") + row(n=None) + row(n=b"mmmm")
    out, _ = run(compile_rows(plan, TABLE, "update", watched), TABLE, 2, body)
    assert [record[2] for record in out] == [b'{"n":"6e6e6e6e"}', b"{}"]
    assert seen == ["n"]


def test_one_record_for_all_rows_of_an_event():
    value = (
        Text('{"data":['), Each((members("after", nulls=False), Var("row"))),
        Text('],"old":['), Each((members("before", changed=True),), separator=";"),
        Text(']}'), Var("order"), Text(" "), Var("table_order"), Text(" "), Value(2, "after", "hex"),
    )  # fmt: skip
    plan = TablePlan("x", (), (RecordPlan(None, value),), (), grouped=True, route=(Text("r"),))
    (record,) = updates(plan, row(None, None), row(None, b"aaaa"), row(None, None), row(None, b"bbbb"), first=4)
    data = '{"id":"6b6b6b6b","n":"%s","d":"0000000000000000"}%d'
    rows = f"{data % ('61616161', 0)},{data % ('62626262', 1)}"
    text = f'{{"data":[{rows}],"old":[{{"n":null}};{{"n":null}}]}}5 1 "62626262"'
    assert record == ("x", None, text.encode(), b"here", 4, (), b"r")
    assert updates(plan) == []


def test_routes():
    route = (Value(2, "after", "hex"),)
    record = RecordPlan((Value(0, "after", "hex"),), None)
    plan = TablePlan("x", (), (record, RecordPlan(None, None, route=route)), (), route=(Text("all"),))
    out = updates(plan, row(), row())
    assert [found[1:3] + found[6:] for found in out] == [
        (b'"6b6b6b6b"', None, b"all"),
        (None, None, b'"6e6e6e6e"'),
    ]


def test_binary_formats():
    def encode(key, value):
        return key and b"\0" + key, value and value.upper() * 2

    key, value = (Value(0, "after", "hex"),), (Text("x"), Value(2, "after", "hex"))
    records = (RecordPlan(key, value), RecordPlan(None, value), RecordPlan(key, None))
    plan = TablePlan("x", (), records, (), encode=encode, route=(Text("r"),))
    out, (_, size) = run(compile_rows(plan, TABLE, "update", hexadecimal), TABLE, 2, row() + row())
    bent = b'X"6E6E6E6E"' * 2
    assert [found[1:3] for found in out] == [(b'\0"6b6b6b6b"', bent), (None, bent), (b'\0"6b6b6b6b"', None)]
    assert size == 2 * (len(bent) + 11)
    assert out[0][6] == b"r"


def test_variables_of_the_transaction():
    names: tuple[Variable, ...] = (
        "event_s",
        "event_ms",
        "executed",
        "tsid",
        "query",
        "offset",
        "order",
        "table_order",
        "row",
    )
    value = tuple(step for name in names for step in (Text(f" {name}="), Var(name)))
    context = TransactionState()
    context.event_s, context.executed_json, context.tsid_json, context.query_json, context.table_rows = (
        5,
        '"u:1-3"',
        '"u"',
        '"q"',
        10,
    )
    plan = TablePlan("x", (RecordPlan(None, value),), (), ())
    out: list[Record] = []
    data = header(TABLE, 1) + row() * 2
    compile_rows(plan, TABLE, "insert", hexadecimal)(data, data.decode("latin-1"), 0, len(data), 3, out.append, context)
    text = ' event_s=5 event_ms=5000 executed="u:1-3" tsid="u" query="q" offset={} order={} table_order={} row={}'
    assert [present(record[2]).decode() for record in out] == [text.format(3, 4, 11, 0), text.format(4, 5, 12, 1)]


def test_the_place_of_what_is_known_later():
    plan = TablePlan("x", (), (RecordPlan(None, (Text("{"), Deferred((), ()), Text("}"))),), ())
    assert [record[2] for record in updates(plan, row(), row())] == [b"{\0}"]


@pytest.mark.parametrize(
    ("template", "grouped", "why"),
    [
        ((Var("xid"),), False, "xid"),
        ((Each(()),), False, "not grouped"),
        ((members("after"),), True, "no one row"),
        ((Var("row"),), True, "no one row"),
    ],
)
def test_plans_that_can_not_be(template, grouped, why):
    plan = TablePlan("x", (), (RecordPlan(None, template),), (), grouped=grouped)
    with pytest.raises(ValueError, match=why):
        compile_rows(plan, TABLE, "update", hexadecimal)
