"""Rows without some of their columns, and objects without some of their members, against the plainest reading."""

import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.decode.binlog.column_presence import IMAGES, packed
from replicator.decode.plan.compiler import compile_rows
from replicator.decode.transactions.transaction_state import TransactionState
from replicator.errors import DecodeError
from replicator.model import types
from replicator.model.batch import Record
from replicator.model.plan import Each, Member, Members, RecordPlan, TablePlan, Text, Value, Var
from replicator.model.table import Column, Table
from tests.unit.decode.binlog_writer import hexadecimal
from tests.unit.decode.test_compiler import image, rows, tables

OPERATIONS = st.sampled_from(["update", "update", "update", "insert", "delete"])
FLAGS = st.booleans()


def partial_image(table, row, present):
    """Of the columns in `present`; NULL bits left over are clear, as MySQL has them."""
    columns = [column for column in table.columns if column.index in present]
    part = Table("", "", tuple(columns))
    nulls = sum(1 << place for place, column in enumerate(columns) if row[column.index] is None)
    return (
        nulls.to_bytes((len(columns) + 7) // 8, "little")
        + image(part, [row[c.index] for c in columns])[(len(columns) + 7) // 8 :]
    )


def partial_header(table, presences, *, spare=True):
    count = len(table.columns)
    size = (count + 7) // 8
    bits = [sum(1 << index for index in present) for present in presences]
    left = (1 << 8 * size) - (1 << count) if spare else 0
    return packed(count) + b"".join((each | left).to_bytes(size, "little") for each in bits)


def event(table, presences, images, **options):
    """`images`: rows of as many images as there are presences."""
    return partial_header(table, presences, **options) + b"".join(
        partial_image(table, row, present) for each in images for row, present in zip(each, presences, strict=True)
    )


def run(function, table, presences, images, **options):
    data = event(table, presences, images, **options)
    out: list[Record] = []
    context = TransactionState()
    after, _ = function(data, data.decode("latin-1"), 0, len(data), 0, out.append, context)
    assert after == len(images)
    return out


def shown(value):
    return None if value is None else value.hex()


def seen(values, present, image_name, column):
    """(is it there, its value) as a `Value` has it."""
    for name in ("after", "before") if image_name == "after" else ("before",):
        if column in present.get(name, ()):
            return True, shown(values[name][column])
    return False, None


def naive_members(members, table, values, present):
    found = {}
    both = len(values) > 1
    for member in members.members:
        column, name = member.value.column, member.value.image
        there = column in present[name]
        kept = members.kept and name == "after" and column in present.get("before", ())
        if not there and not kept:
            continue
        if members.changed and both:
            if column not in present["after"]:
                continue
            if column in present["before"] and values["before"][column] == values["after"][column]:
                continue
        value = seen(values, present, name, column)[1]
        if value is not None or members.nulls:
            found[member.name] = value
    return members.before + json.dumps(found, separators=(",", ":")) if found else members.empty


@st.composite
def cases(draw):
    table = draw(tables())
    every = range(len(table.columns))
    operation = draw(OPERATIONS)
    names = IMAGES[operation]
    present = {name: {index for index in every if draw(FLAGS)} or {0} for name in names}
    images = []
    for _ in range(draw(st.integers(1, 3))):
        before, after = draw(rows(table)), draw(rows(table))
        after = [old if draw(FLAGS) else new for old, new in zip(before, after, strict=True)]
        images.append({"before": before, "after": after})
    return table, operation, present, [{name: each[name] for name in names} for each in images]


@st.composite
def members(draw, table, names):
    chosen = [column.index for column in table.columns if draw(st.integers(0, 4))]
    name = draw(st.sampled_from(names))
    renderer = st.sampled_from(["hex", "hex2"])
    return Members(
        tuple(Member(f"c{index}", Value(index, name, draw(renderer))) for index in chosen),
        changed=draw(FLAGS),
        kept=draw(FLAGS),
        nulls=draw(FLAGS),
        before=draw(st.sampled_from(["", ',"old":'])),
        empty=draw(st.sampled_from(["", "{}"])),
    )


def only(operation: str, record: RecordPlan, *, grouped: bool = False) -> TablePlan:
    """A plan that has the record for one operation alone."""
    insert, update, delete = ((record,) if name == operation else () for name in ("insert", "update", "delete"))
    return TablePlan("x", insert, update, delete, grouped=grouped)


@given(st.data())
def test_members_and_values(data):
    table, operation, present, images = data.draw(cases())
    names = IMAGES[operation]
    objects = data.draw(st.lists(members(table, names), min_size=1, max_size=3))
    columns = data.draw(st.lists(st.integers(0, len(table.columns) - 1), max_size=4))
    singles = [Value(c, data.draw(st.sampled_from(names)), "hex", absent="gone") for c in columns]
    steps = [*objects, *singles]
    template = tuple(part for step in data.draw(st.permutations(steps)) for part in (step, Text(" ")))
    grouped = data.draw(FLAGS)
    record = RecordPlan(None, (Each(template, "\n"), Var("offset")) if grouped else template)
    plan = only(operation, record, grouped=grouped)
    wanted: list[str] = []
    for values in images:
        text = ""
        for step in template:
            if isinstance(step, Members):
                text += naive_members(step, table, values, present)
            elif isinstance(step, Value):
                there, value = seen(values, present, step.image, step.column)
                text += json.dumps(value) if there else "gone"
            else:
                text += step.text
        wanted.append(text)
    function = compile_rows(plan, table, operation, hexadecimal, True)
    out = run(
        function, table, [present[name] for name in names], [list(v.values()) for v in images], spare=data.draw(FLAGS)
    )
    assert [found[2].decode() for found in out] == (["\n".join(wanted) + "0"] if grouped else wanted)


@given(st.data())
def test_records_keys_that_move(data):
    """With the key in the image before, as the servers have it: an update that does not touch it stays one."""
    table, _, present, images = data.draw(cases().filter(lambda case: case[1] == "update" and case[0].primary_key))
    keys = table.primary_key
    present = {"before": present["before"] | set(keys), "after": present["after"]}
    old, new = (tuple(Value(c, name, "hex") for c in keys) for name in ("before", "after"))
    plan = TablePlan(
        "x", (), (RecordPlan(new, (Text("u"),)),), (), keys=keys,
        rekey=(RecordPlan(old, None), RecordPlan(new, (Text("c"),))),
    )  # fmt: skip
    wanted: list[tuple[bytes, bytes | None]] = []
    for values in images:
        before, after = (
            "".join(json.dumps(seen(values, present, name, c)[1]) for c in keys).encode() for name in values
        )
        wanted += [(after, b"u")] if before == after else [(before, None), (after, b"c")]
    function = compile_rows(plan, table, "update", hexadecimal, True)
    out = run(function, table, list(present.values()), [list(v.values()) for v in images])
    assert [found[1:3] for found in out] == wanted


@given(st.data())
def test_damaged_events_raise_what_damage_raises(data):
    table, operation, present, images = data.draw(cases())
    names = IMAGES[operation]
    record = RecordPlan(None, (data.draw(members(table, names)),))
    plan = only(operation, record)
    presences = [present[name] for name in names]
    body = bytearray(event(table, presences, [list(each.values()) for each in images]))
    for _ in range(data.draw(st.integers(0, 4))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    raw = bytes(body[: data.draw(st.integers(0, len(body)))])
    out: list[Record] = []
    try:
        after, _ = compile_rows(plan, table, operation, hexadecimal, True)(
            raw, raw.decode("latin-1"), 0, len(raw), 0, out.append, TransactionState()
        )
    except (DecodeError, struct.error, IndexError, ValueError):
        return
    assert len(out) == after


TABLE = Table(
    "shop",
    "t",
    (Column(0, "id", types.LONG, nullable=False), Column(1, "v", types.VARCHAR, 20), Column(2, "n", types.LONG)),
    (0,),
)
KEY = (Value(0, "after", "hex"),)


@pytest.mark.parametrize("keyed", [RecordPlan(KEY, None), RecordPlan(None, None, route=KEY)])
def test_a_key_that_nobody_knows_stops(keyed):
    """MySQL leaves out a key column that took its default."""
    plan = TablePlan("x", (keyed,), (), ())
    function = compile_rows(plan, TABLE, "insert", hexadecimal, True)
    with pytest.raises(DecodeError, match=r"E2304 .*shop\.t.*a column of its key.*no 'id'"):
        run(function, TABLE, [{1}], [[[b"abcd", b"x", None]]])


def test_an_old_key_that_nobody_knows_stops():
    """Keys that are not the table's own: the image before has only that."""
    plan = TablePlan(
        "x", (), (RecordPlan((Value(1, "after", "hex"),), None),), (), keys=(1,),
        rekey=(RecordPlan((Value(1, "before", "hex"),), None),),
    )  # fmt: skip
    function = compile_rows(plan, TABLE, "update", hexadecimal, True)
    with pytest.raises(DecodeError, match=r"E2304 .*no 'v'"):
        run(function, TABLE, [{0}, {1}], [[[b"abcd", None, None], [None, b"x", None]]])


def test_a_key_of_which_only_the_new_value_is_known_has_moved():
    plan = TablePlan("x", (), (RecordPlan(None, ()),), (), keys=(1,), rekey=(RecordPlan(KEY, (Text("moved"),)),))
    function = compile_rows(plan, TABLE, "update", hexadecimal, True)
    (found,) = run(function, TABLE, [{0}, {1}], [[[b"abcd", None, None], [None, b"x", None]]])
    assert found[1:3] == (b'"61626364"', b"moved")


def test_a_row_without_columns():
    plan = TablePlan("x", (RecordPlan(None, (Members((Member("n", Value(2, "after", "hex")),)), Var("row"))),), (), ())
    function = compile_rows(plan, TABLE, "insert", hexadecimal, True)
    assert [found[2] for found in run(function, TABLE, [set()], [[[None] * 3]])] == [b"{}0"]
    data = partial_header(TABLE, [set()]) + b"\0"
    with pytest.raises(DecodeError, match="E2302"):
        function(data, data.decode("latin-1"), 0, len(data), 0, list[Record]().append, TransactionState())


def test_many_sets_of_columns():
    table = Table("shop", "t", tuple(Column(index, f"c{index}", types.TINY) for index in range(8)))
    plan = TablePlan("x", (RecordPlan(None, tuple(Value(c, "after", "hex", absent="-") for c in range(8))),), (), ())
    function = compile_rows(plan, table, "insert", hexadecimal, True)
    for _ in range(2):
        for bits in range(1, 120):
            present = {index for index in range(8) if bits >> index & 1}
            (found,) = run(function, table, [present], [[[b"\7"] * 8]])
            assert found[2].decode() == "".join('"07"' if index in present else "-" for index in range(8))
