"""The filter and the order of the tasks table."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.filtering import DESCENDING, ORDERS, Facts, Term, direction, facts, matches, ordered, parse
from tests.unit.monitor.filter_cases import NOW, QUERIES, TASKS, answer, order
from tests.unit.monitor.scene import night
from tests.unit.monitor.test_view_builder import Eye, named


def shown(query: str) -> list[str]:
    return answer(query)[0]


EVERY = [task.name for task in TASKS]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", EVERY),
        ("state:failed", ["Billing"]),
        ("state:failed,no-running", ["Billing", "inventory"]),
        ("state:running", ["orders_to_lake", "crm", "zeta"]),
        ("state:", EVERY),
        ("!state:", EVERY),
        ("state:retrying", ["crm"]),
        ("label:env=prod", ["orders_to_lake", "Billing"]),
        ("label:env!=prod", ["crm", "inventory", "blue", "zeta"]),
        ("!label:env", ["inventory", "blue", "zeta"]),
        ("host:a", ["orders_to_lake", "crm", "zeta"]),
        ("E3102", ["Billing"]),
        ("code:E3102", ["Billing"]),
        ("kafka-1:9092", ["orders_to_lake", "crm"]),
        ("lag>30", ["crm", "zeta"]),
        ("!lag>30", ["orders_to_lake", "Billing", "inventory", "blue"]),
        ("lag>30 !zeta", ["crm"]),
        ("event>20m", ["crm"]),
        ("takeover<2h", ["crm"]),
        ('note:"no standby"', ["crm"]),
        ("is:problem", ["Billing", "crm", "inventory", "blue"]),
        ("sate:failed", []),
        ("name:billing", ["Billing"]),
    ],
)
def test_queries(query: str, names: list[str]) -> None:
    assert shown(query) == names


def test_what_a_query_says() -> None:
    said = answer('state:failed,paused lag>5m !"no standby" label:env=prod sta code:')[1]
    assert said == (
        'state is "failed" or "paused", lag > 300, not: text contains "no standby", label is "env=prod", '
        'text contains "sta"'
    )


def test_orders() -> None:
    assert order("") == ["Billing", "inventory", "crm", "blue", "orders_to_lake", "zeta"], "in trouble first"
    assert order("lag") == ["crm", "zeta", "orders_to_lake", "Billing", "blue", "inventory"], "unknown ones last"
    assert order("-lag")[:3] == ["orders_to_lake", "crm", "zeta"] and order("-lag")[3:] == order("lag")[3:]
    assert order("event")[:2] == ["orders_to_lake", "crm"], "the youngest first"
    assert order("-event")[:2] == ["crm", "orders_to_lake"]
    assert direction("lag") == ("lag", True) and direction("-lag") == ("lag", False) and direction("x") == ("", False)


def test_facts_of_a_task() -> None:
    view = Eye(night()).look()
    failed = facts(named(view, "billing_invoices"))
    assert failed.codes == ("e2104",) and "e2104" in failed.text and failed.state == "failed"
    assert facts(named(view, "inventory")).state == "no-running" and facts(named(view, "inventory")).lag is None
    assert facts(named(view, "audit_trail")).codes == ("e1001",)
    assert "no running" in facts(named(view, "inventory")).text


@given(st.text(max_size=40) | st.sampled_from(QUERIES))
def test_any_text_is_a_query(query: str) -> None:
    for term in parse(query):
        for task in TASKS:
            if term.values or term.operator not in ("", ":"):
                assert matches([term], task, NOW) == (not matches([_turned(term)], task, NOW))
    assert set(shown(query)) <= set(EVERY)


def _turned(term: Term) -> Term:
    return msgspec.structs.replace(term, negated=not term.negated)


@given(st.sampled_from(QUERIES), st.sampled_from(QUERIES))
def test_all_terms_have_to_hold(one: str, other: str) -> None:
    if '"' not in one + other:
        assert shown(f"{one} {other}") == [name for name in shown(one) if name in shown(other)]


@given(st.permutations(TASKS), st.sampled_from(ORDERS), st.booleans())
def test_an_order_does_not_depend_on_the_one_before(tasks: list[Facts], column: str, turned: bool) -> None:
    key = ("-" if turned else "") + column
    assert ordered(tasks, key) == ordered(TASKS, key)
    assert direction(key)[1] == ((column in DESCENDING) != turned)
