"""Paths are built and parsed in one place, and what is built can be parsed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from replicator.coordination.layout import Layout, escape, parse_contender, unescape


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40))
def test_names_come_back(name):
    escaped = escape(name)
    assert unescape(escaped) == name
    assert "/" not in escaped
    assert not escaped.startswith(".")
    assert escaped.isascii()
    assert Layout().task_name(escaped) == name
    assert Layout().is_task(escaped)


@given(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20),
    st.integers(0, 2**31 - 1),
    st.uuids(),
)
def test_contenders_come_back(host, sequence, guid):
    prefix = Layout().contender_prefix("t", host, guid.hex)
    parsed = parse_contender(f"{prefix}{sequence:010d}".rpartition("/")[2])
    assert parsed is not None
    assert (parsed.host, parsed.guid, parsed.sequence) == (host, guid.hex, sequence)


@given(st.text(max_size=80))
def test_whatever_else_stands_there_is_not_followed(name):
    parsed = parse_contender(name)
    assert parsed is None or parsed.name == name


def test_junk():
    guid = "0" * 32
    for name in ("", "x", f"h-{guid}-00000000001", f"h-{guid}--000000001", f"h-{guid[:-1]}g-0000000001", f"-{guid}-1"):
        assert parse_contender(name) is None


def test_names_nobody_would_make():
    for child in ("%FF", "a b", "%zz", "%2e"):
        assert not Layout().is_task(child)


def test_the_root_is_one_path():
    assert Layout("bus/").task("a/b") == "/bus/tasks/a%2Fb"
