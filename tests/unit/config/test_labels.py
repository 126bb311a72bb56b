from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.config.labels import EVERYTHING, Requirement, Selector, check_labels, parse_selector
from replicator.config.load import load_task, to_data
from replicator.errors import ConfigError
from tests.unit.config.test_load import GOOD

_WORD = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,8}[A-Za-z0-9])?", fullmatch=True)
KEYS = st.one_of(
    _WORD, st.builds("{}/{}".format, st.from_regex(r"[a-z0-9]([a-z0-9.-]{0,5}[a-z0-9])?", fullmatch=True), _WORD)
)
VALUES = st.one_of(st.just(""), _WORD)
REQUIREMENTS = st.one_of(
    st.builds(Requirement, KEYS, st.sampled_from(["present", "absent"])),
    st.builds(
        Requirement,
        KEYS,
        st.sampled_from(["in", "notin"]),
        st.lists(VALUES, min_size=1, max_size=3, unique=True).map(tuple),
    ),
)
SELECTORS = st.lists(REQUIREMENTS, min_size=1, max_size=4).map(lambda found: Selector(tuple(found)))
PROD = {"env": "prod", "team": "shop", "bare": ""}


@given(SELECTORS)
def test_a_selector_is_read_back_from_its_text(selector: Selector) -> None:
    assert parse_selector(str(selector)) == selector


@given(KEYS, VALUES, st.dictionaries(KEYS, VALUES, max_size=4))
def test_each_negation_is_the_opposite(key: str, value: str, labels: dict[str, str]) -> None:
    for one, other in (
        (f"{key}={value}", f"{key}!={value}"),
        (key, f"!{key}"),
        (f"{key} in ({value})", f"{key} notin ({value})"),
    ):
        assert parse_selector(one).matches(labels) != parse_selector(other).matches(labels)


@given(SELECTORS, SELECTORS, st.dictionaries(KEYS, VALUES, max_size=4))
def test_a_comma_means_and(one: Selector, other: Selector, labels: dict[str, str]) -> None:
    both = parse_selector(f"{one} , {other}")
    assert both.matches(labels) == (one.matches(labels) and other.matches(labels))


@given(st.text(max_size=30))
def test_any_text_is_a_selector_or_one_kind_of_error(text: str) -> None:
    try:
        assert parse_selector(text).requirements
    except ConfigError as error:
        assert error.code == "E1031"


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("env=prod", True), ("env==prod", True), ("env=dev", False), ("env!=dev", True), ("env!=prod", False),
        ("zone!=a", True), ("zone notin (a,b)", True), ("zone=a", False), ("env in (dev, prod)", True),
        ("env notin(dev,prod)", False), ("env", True), ("!env", False), ("! zone", True), ("env=prod,team=ads", False),
        (" env = prod , team ", True), ("bare=", True), ("bare=,env=prod", True), ("bare in (,x)", True),
        ("in in (a)", False),
        ("notin", False), ("env=in", False),
    ],
)  # fmt: skip
def test_matches(text: str, matches: bool) -> None:
    assert parse_selector(text).matches(PROD) is matches


@pytest.mark.parametrize(
    "text",
    ["", " ", ",", "env=prod,", ",env", "env=a b", "env in", "env in (", "env in (a", "env in a", "=x", "!", "!env=x",
     "env=-x", "-env", "env=ä", "env>1", "env=(a)", "env)", "a/b/c", "UP/x", "env = prod team", "env\x00", "x" * 1001,
     "env=" + "v" * 64, "k" * 64],
)  # fmt: skip
def test_refuses(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_selector(text)
    assert caught.value.code == "E1031" and caught.value.wanted


def test_everything_matches_each_task() -> None:
    assert EVERYTHING.matches({}) and EVERYTHING.matches(PROD)


def test_labels_of_a_task() -> None:
    config = load_task(f"{GOOD}\nlabels: {{env: prod, example.com/team: shop, bare: ''}}\n")
    assert to_data(config)["labels"] == {"env": "prod", "example.com/team": "shop", "bare": ""}
    assert load_task(GOOD).labels == {}


@pytest.mark.parametrize(
    "label", ["{env: 1}", "{'': x}", "{a b: x}", "{env: 'a b'}", '{env: "x\\n"}', "[env]", "{env: null}"]
)
def test_refuses_labels(label: str) -> None:
    with pytest.raises(ConfigError):
        load_task(f"{GOOD}\nlabels: {label}\n")


def test_labels_are_bounded() -> None:
    check_labels({f"k{number}": "x" * 63 for number in range(32)})
    for bad in ({f"k{number}": "" for number in range(33)}, {"k": "x" * 64}, {"k" * 64: ""}):
        with pytest.raises(ConfigError, match="E1030"):
            check_labels(bad)
