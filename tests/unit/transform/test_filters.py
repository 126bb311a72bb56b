"""Filters in records that the real decoder makes, and against a naive reading of SQL's logic."""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable
from datetime import date, datetime
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replicator.errors import ConfigError, DecodeError
from replicator.model import types
from replicator.model.position import Position
from replicator.model.table import Column, Table
from replicator.transform.filters import Filters
from tests.unit.decode.decimal_writer import write_decimal
from tests.unit.transform.changes import ANN, BOB, USERS, Script, images, run, task

TALES = Table(
    "shop",
    "tale",
    (
        Column(0, "id", types.LONG, nullable=False),
        Column(1, "n", types.LONGLONG, unsigned=True),
        Column(2, "price", types.NEWDECIMAL, 10 << 8 | 2),
        Column(3, "word", types.VARCHAR, 400, collation=45),
        Column(4, "old", types.VARCHAR, 100, collation=8),
        Column(5, "day", types.DATE),
        Column(6, "at", types.DATETIME2, 3),
        Column(7, "ratio", types.DOUBLE, 8),
        Column(8, "raw", types.VARCHAR, 100, collation=63),
    ),
    (0,),
)


def where(text: str) -> dict[str, Any]:
    return {"filter": [{"tables": ["shop.*"], "where": text}]}


def passes(text: str, *rows: tuple[Any, ...]) -> list[int]:
    """Ids of the rows that pass."""
    made = run(task(**where(text)), Script().change(USERS, "insert", *rows))
    return [after["id"] for _, _, after in images(made)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("age > 40", [1]),
        ("40 < age", [1]),
        ("NOT age > 40", [3]),
        ("age IS NULL", [2]),
        ("Age is not null and city = 'Rome'", [3]),
        ("city <> 'Rome'", [1]),
        ("city IN ('Oslo', 'Rome') OR id = 2", [1, 2, 3]),
        ("city NOT IN ('Oslo')", [3]),
        ("email LIKE '%@example.org'", [1, 2]),
        ("email NOT LIKE '__n%'", [2, 3]),
        ("email like 'c__\\_%'", [3]),
        ("age BETWEEN 7 AND 40.5", [3]),
        ("age NOT BETWEEN 7 AND 40.5", [1]),
        ("not (age = 41 or city is null)", [3]),
        ("`id` = 1.0 AND city = 'Oslo'", [1]),
        ("id = TRUE", [1]),
        ("id <> age", [1, 3]),
        ("city = 'oslo'", []),
    ],
)
def test_rows_that_pass(text: str, found: list[int]) -> None:
    assert passes(text, ANN, BOB, (3, "cat_x@b", 7, "Rome")) == found


def test_an_update_that_moves_a_row_in_is_an_insert_and_out_a_delete() -> None:
    oslo, rome, old = ANN, (1, ANN[1], 41, "Rome"), (1, ANN[1], 42, "Oslo")
    script = Script().change(USERS, "update", oslo, old, rome, oslo, oslo, rome, rome, rome)
    made = run(task(**where("city = 'Oslo'")), script)
    assert [op for op, _, _ in images(made)] == ["u", "c", "d"]
    assert [(record[4], record[2] is None) for record in made] == [(0, False), (1, False), (2, False), (2, True)]
    inside, entered, left = images(made)
    assert (inside[1]["age"], inside[2]["age"]) == (41, 42)
    assert (entered[1], entered[2]["city"]) == (None, "Oslo")
    assert (left[1]["city"], left[2]) == ("Oslo", None)


def test_a_key_that_changes_under_a_filter() -> None:
    script = Script().change(USERS, "update", ANN, (9, *ANN[1:]), ANN, (9, "x", 1, "Rome"))
    made = run(task(**where("city = 'Oslo'")), script)
    assert [(op, (after or before)["id"]) for op, before, after in images(made)] == [("d", 1), ("c", 9), ("d", 1)]


@pytest.mark.parametrize(
    ("text", "ops"),
    [
        ("before.city <> after.city", ["u"]),
        ("operation = 'delete' OR after.age > 41", ["u", "d"]),
        ("operation IN ('insert', 'DELETE')", ["c", "d"]),
        ("operation <> 'update'", ["c", "d"]),
        ("before.id IS NULL", ["c"]),
        ("after.id IS NULL", ["d"]),
        ("NOT before.age = 41", []),
        ("operation = 'update' AND city = 'Rome'", ["u"]),
        ("operation = 'delete' AND city = 'Oslo'", ["d"]),
    ],
)
def test_filters_of_changes(text: str, ops: list[str]) -> None:
    script = Script().change(USERS, "insert", ANN).change(USERS, "update", ANN, (1, ANN[1], 42, "Rome"))
    assert [op for op, _, _ in images(run(task(**where(text)), script.change(USERS, "delete", ANN)))] == ops


def test_row_numbers_do_not_depend_on_the_filter() -> None:
    rows = [(number, f"{number}@x", number, "Oslo" if number % 3 else "Rome") for number in range(9)]
    script = Script().change(USERS, "insert", *rows)
    made = run(task(**where("city = 'Rome'")), script)
    assert [record[4] for record in made] == [0, 3, 6]
    resumed = run(task(**where("city = 'Rome'")), script, Position("binlog.000001", 4, rows=4))
    assert [record[4] for record in resumed] == [6]


def test_every_rule_for_a_table_counts() -> None:
    rules = [{"tables": ["shop.*"], "where": "age > 1"}, {"tables": ["shop.user"], "where": "city = 'Oslo'"}]
    made = run(task(filter=rules), Script().change(USERS, "insert", ANN, (3, "c", 7, "Rome")))
    assert [after["id"] for _, _, after in images(made)] == [1]


def test_a_filter_may_name_what_records_do_not_have() -> None:
    rule = {"tables": ["shop.user"], "exclude": ["city"]}
    made = run(task(columns=[rule], **where("city = 'Oslo'")), Script().change(USERS, "insert", ANN, BOB))
    assert [after for _, _, after in images(made)] == [{"id": 1, "email": "ann@example.org", "age": 41}]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("town = 'Oslo'", "'town'.*does not have"),
        ("citty = 'Oslo'", "'city'"),
        ("age = '41'", "age with '41'.*the column is a number"),
        ("city > 5", "city with.*the column is a text"),
        ("city = age", "text and number.*columns of one kind"),
        ("age LIKE '4%'", "LIKE"),
        ("day = '2026-02-30'", "day with '2026-02-30'"),
        ("at = '2026-02-03T00:00:00Z'", "datetime"),
        ("operation = 'upsert'", "'upsert'"),
        ("operation > 'insert'", "compares the operation"),
        ("operation IS NULL", "uses a test on the operation"),
        ("1 = 1", "two literals"),
        ("word = X'00'", "the column is a text"),
        ("raw = 'a'", "the column is a bytes"),
        ("id = DATE '2026-01-01'", "DATE '2026-01-01'"),
        ("doc = 'x'", "IS NULL or IS NOT NULL"),
        ("state = 'opne'", "'open'"),
    ],
)
def test_filters_that_do_not_fit_the_table(text: str, said: str) -> None:
    more = (Column(9, "doc", types.JSON, 4), Column(10, "state", types.ENUM, 1, members=("open", "shut")))
    shared = (Column(11, "age", types.SHORT), Column(12, "city", types.VARCHAR, 40, collation=45))
    table = Table("shop", "tale", (*TALES.columns, *more, *shared), (0,))
    with pytest.raises(DecodeError, match=said) as raised:
        Filters(task(**where(text)).transforms.filter).filter(table)
    assert raised.value.code == "E2310"


def test_rows_and_changes_do_not_mix() -> None:
    rules = [{"tables": ["shop.*"], "where": "age > 1"}, {"tables": ["shop.user"], "where": "operation = 'insert'"}]
    with pytest.raises(DecodeError, match=r"E2310.*rows and changes"):
        run(task(filter=rules), Script().change(USERS, "insert", ANN))


def test_a_filter_that_can_not_be_read_is_refused_with_the_task() -> None:
    with pytest.raises(ConfigError, match=r"E1010.*filter\[0\].where.*at character 8"):
        task(**where("age >  "))


# Against a naive reading

Truth = bool | None


class Said(NamedTuple):
    """An expression as text, and what it means."""

    text: str
    value: Callable[[dict[str, Any]], Truth]


def literal(value: Any) -> str:
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, datetime):
        return f"'{value.isoformat(sep=' ')}'"
    if isinstance(value, date):
        return f"'{value.isoformat()}'"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


WORDS = st.text("abé_%'\\", max_size=3)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "id": st.integers(-3, 3),
    "n": st.integers(0, 4) | st.just(2**64 - 1),
    "price": st.decimals(-3, 3, places=2),
    "word": WORDS,
    "old": WORDS,
    "day": st.dates(date(2026, 1, 1), date(2026, 1, 5)),
    "at": st.datetimes(datetime(2026, 1, 1), datetime(2026, 1, 3)).map(
        lambda at: at.replace(microsecond=at.microsecond // 1000 * 1000)
    ),
    "ratio": st.sampled_from([0.1, 0.5, -0.5, 2.0]),
    "raw": st.binary(max_size=2),
}
SIGNS = {"=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


@st.composite
def single_tests(draw: st.DrawFn) -> Said:
    name = draw(st.sampled_from(sorted(VALUES)))
    kind = draw(st.sampled_from(["compare", "in", "null", "between", "like", "columns"]))
    if kind == "compare":
        sign, value = draw(st.sampled_from(sorted(SIGNS))), draw(VALUES[name])
        return Said(
            f"{name} {sign} {literal(value)}", lambda row: None if row[name] is None else SIGNS[sign](row[name], value)
        )
    if kind == "in":
        listed = draw(st.lists(VALUES[name], min_size=1, max_size=3))
        return Said(
            f"{name} IN ({', '.join(map(literal, listed))})",
            lambda row: None if row[name] is None else row[name] in listed,
        )
    if kind == "null":
        return Said(f"{name} IS NULL", lambda row: row[name] is None)
    if kind == "between":
        low, high = draw(VALUES[name]), draw(VALUES[name])
        return Said(
            f"{name} BETWEEN {literal(low)} AND {literal(high)}",
            lambda row: None if row[name] is None else low <= row[name] <= high,
        )
    if kind == "like":
        pattern = draw(WORDS)
        return Said(f"word LIKE {literal(pattern)}", lambda row: like(row["word"], pattern))
    sign = draw(st.sampled_from(sorted(SIGNS)))
    left, right = draw(st.sampled_from([("id", "n"), ("n", "price"), ("word", "old"), ("day", "at"), ("id", "ratio")]))
    return Said(f"{left} {sign} {right}", lambda row: compared(SIGNS[sign], row[left], row[right]))


def compared(sign: Callable[[Any, Any], bool], left: Any, right: Any) -> Truth:
    if left is None or right is None:
        return None
    return sign(moment(left), moment(right))


def moment(value: Any) -> Any:
    return datetime(value.year, value.month, value.day) if type(value) is date else value


def like(text: str | None, pattern: str) -> Truth:
    """By definition: character by character, every split tried for %."""
    if text is None:
        return None
    if not pattern:
        return not text
    if pattern[0] == "%":
        return any(like(text[cut:], pattern[1:]) for cut in range(len(text) + 1))
    if pattern[0] == "\\" and len(pattern) > 1:
        return text[:1] == pattern[1] and bool(like(text[1:], pattern[2:]))
    return bool(text) and pattern[0] in ("_", text[0]) and bool(like(text[1:], pattern[1:]))


def negated(part: Said) -> Said:
    def value(row: dict[str, Any]) -> Truth:
        inner = part.value(row)
        return None if inner is None else not inner

    return Said(f"NOT ({part.text})", value)


def both(left: Said, right: Said) -> Said:
    def value(row: dict[str, Any]) -> Truth:
        found = left.value(row), right.value(row)
        return False if False in found else None if None in found else True

    return Said(f"({left.text} AND {right.text})", value)


def either(left: Said, right: Said) -> Said:
    def value(row: dict[str, Any]) -> Truth:
        found = left.value(row), right.value(row)
        return True if True in found else None if None in found else False

    return Said(f"({left.text} OR {right.text})", value)


EXPRESSIONS = st.recursive(
    single_tests(),
    lambda inner: st.one_of(inner.map(negated), st.builds(both, inner, inner), st.builds(either, inner, inner)),
    max_leaves=8,
)
ROWS = st.fixed_dictionaries({name: values if name == "id" else st.none() | values for name, values in VALUES.items()})


def packed(row: dict[str, Any]) -> tuple[Any, ...]:
    made = dict(row)
    if row["price"] is not None:
        made["price"] = write_decimal(int(row["price"] * 100), 10, 2)
    if row["old"] is not None:
        made["old"] = row["old"].encode("latin-1")
    if row["day"] is not None:
        made["day"] = row["day"].year << 9 | row["day"].month << 5 | row["day"].day
    if row["at"] is not None:
        at = row["at"]
        day = (at.year * 13 + at.month) << 5 | at.day
        whole = 1 << 39 | day << 17 | at.hour << 12 | at.minute << 6 | at.second
        made["at"] = whole.to_bytes(5, "big") + (at.microsecond // 100).to_bytes(2, "big")
    if row["ratio"] is not None:
        made["ratio"] = struct.pack("<d", row["ratio"])
    return tuple(made[column.name] for column in TALES.columns)


@settings(max_examples=150)
@given(EXPRESSIONS, st.lists(ROWS, min_size=1, max_size=6))
def test_inserts_as_a_naive_reading_has_them(said: Said, rows: list[dict[str, Any]]) -> None:
    made = run(task(**where(said.text)), Script().change(TALES, "insert", *map(packed, rows)))
    assert [record[4] for record in made] == [number for number, row in enumerate(rows) if said.value(row) is True]


@settings(max_examples=80)
@given(EXPRESSIONS, st.lists(st.tuples(ROWS, ROWS), min_size=1, max_size=4))
def test_consumers_hold_exactly_the_rows_of_the_filter(
    said: Said, pairs: list[tuple[dict[str, Any], dict[str, Any]]]
) -> None:
    """Each pair is a row of its own: inserted, then updated."""
    script = Script()
    for number, (before, after) in enumerate(pairs):
        first, second = before | {"id": number}, after | {"id": number}
        script.change(TALES, "insert", packed(first)).change(TALES, "update", packed(first), packed(second))
    held: dict[int, Any] = {}
    for op, before, after in images(run(task(**where(said.text)), script)):
        if op == "c":
            assert after["id"] not in held
        else:
            assert held.pop(before["id"]) == before
        if op != "d":
            held[after["id"]] = after
    expected = {n for n, (_, after) in enumerate(pairs) if said.value(after | {"id": n}) is True}
    assert set(held) == expected
