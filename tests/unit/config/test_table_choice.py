"""Which tables a changed configuration adds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.config.load import parse_task
from replicator.config.table_choice import added, choice_of, chooser
from replicator.config.task import MySQLSource


def source(tables: list[str], snapshot: Any = "initial", **more: Any) -> MySQLSource:
    data = {"type": "mysql", "host": "h", "user": "u", "password": "env:P", "tables": tables, "snapshot": snapshot}
    return parse_task({"name": "t", "source": {**data, **more}, "sink": {"type": "stdout"}}).database


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (["shop.a"], ["shop.a", "shop.b"], ["shop.b"]),
        (["shop.a", "shop.b"], ["shop.b"], []),
        (["shop.*"], ["shop.a", "shop.b*"], []),
        (["shop.*"], ["shop.*", "shop._a_new"], ["shop._a_new"]),
        (["shop.*"], ["*.*"], ["*.*"]),
        (["shop.*", "!shop.old"], ["shop.*"], ["shop.old"]),
        (["shop.*", "!shop.o*"], ["shop.*", "!shop.old"], ["shop.o*"]),
        (["shop.*", "!shop.old"], ["shop.*", "!shop.o*"], []),
        (["shop.?"], ["shop.*"], ["shop.*"]),
        (["!shop.old"], ["shop.*"], ["shop.old"]),
        (["*.c"], ["a*.b.c"], ["a*.b.c"]),
        (["shop.b", "shop.a"], ["shop.a", "shop.b"], []),
    ],
)
def test_patterns(before: list[str], after: list[str], expected: list[str]) -> None:
    assert list(added(choice_of(source(before)), source(after))) == expected


def test_what_the_snapshot_is_of() -> None:
    narrow = source(["shop.*"], {"mode": "initial", "tables": ["shop.a"]})
    wide = source(["shop.*"], {"mode": "initial", "tables": ["shop.a", "shop.b"]})
    assert added(choice_of(narrow), wide) == ("shop.b",)
    assert added(choice_of(wide), narrow) == ()
    assert added(choice_of(narrow), source(["shop.*"])) == ("*.*",)
    assert chooser(choice_of(narrow))("shop.a") and not chooser(choice_of(narrow))("shop.b")


def test_that_rows_are_not_wanted_was_decided() -> None:
    never, initial = source(["shop.*"], "never"), source(["shop.*"])
    assert added(choice_of(never), initial) == ()
    assert added(choice_of(initial), source(["*.*"], "never")) == ()
    assert added(choice_of(initial), source(["*.*"], {"new_tables": False})) == ()
    assert added(choice_of(never), source(["shop.*", "crm.*"])) == ("crm.*",)


def test_copies_that_are_not_hidden_any_more() -> None:
    shown = source(["shop.*"], online_schema_change="show")
    assert "_*_gho" in added(choice_of(source(["shop.*"])), shown)
    assert added(choice_of(shown), source(["shop.*"])) == ()


PARTS = st.text("ab*?.", min_size=1, max_size=4)
PATTERNS = st.lists(
    st.builds("{}{}.{}".format, st.sampled_from(["", "!"]), st.text("ab*?", min_size=1, max_size=3), PARTS),
    min_size=1,
    max_size=4,
)
NAMES = st.tuples(st.text("ab", min_size=1, max_size=3), st.text("ab.", min_size=1, max_size=4))


@given(PATTERNS, PATTERNS, st.lists(NAMES, max_size=20))
def test_no_table_is_new_where_nothing_was_added(
    before: list[str], after: list[str], names: list[tuple[str, str]]
) -> None:
    old, new = source(before), source(after)
    if not added(choice_of(old), new):
        assert all(old.selection().matches(*name) for name in names if new.selection().matches(*name))
