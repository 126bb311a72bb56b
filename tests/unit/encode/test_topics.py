from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.encode.topics import Topics
from replicator.errors import ConfigError
from replicator.model.table import Table

DEFAULT = "{task}.{database}.{table}"


def table(database: str, name: str) -> Table:
    return Table(database=database, name=name, columns=())


@pytest.mark.parametrize(
    ("database", "name", "topic"),
    [
        ("shop", "hot_item", "copy.shop.hot_item"),
        ("zoo", "with space", "copy.zoo.with_space"),
        ("zoo", "with.dot", "copy.zoo.with.dot"),
        ("zoo", "表_ünï", "copy.zoo.___n_"),
        ("zoo", "back`tick", "copy.zoo.back_tick"),
        ("zoo", "dollar$table-dash", "copy.zoo.dollar_table-dash"),
        ("zoo.d-b", "t", "copy.zoo.d-b.t"),
        ("zoo_库", "t", "copy.zoo__.t"),
    ],
)
def test_names_as_debezium_makes_them(database: str, name: str, topic: str) -> None:
    assert Topics(DEFAULT, "copy").topic(table(database, name)) == topic


def test_a_table_keeps_its_topic_over_its_versions() -> None:
    topics = Topics(DEFAULT, "copy")
    assert topics.topic(table("a", "b")) == topics.topic(table("a", "b"))


@pytest.mark.parametrize(
    ("one", "other"),
    [(("zoo", "a b"), ("zoo", "a_b")), (("a.b", "c"), ("a", "b.c")), (("zoo", "库"), ("zoo", "表"))],
)
def test_two_tables_never_share_a_topic_by_accident(one: tuple[str, str], other: tuple[str, str]) -> None:
    topics = Topics(DEFAULT, "copy")
    topics.topic(table(*one))
    with pytest.raises(ConfigError, match=r"E1007.*same topic") as caught:
        topics.topic(table(*other))
    assert ".".join(other) in str(caught.value)


def test_tables_share_a_topic_where_the_template_says_so() -> None:
    topics = Topics("{task}.{database}.all", "copy")
    assert topics.topic(table("shop", "a")) == topics.topic(table("shop", "b")) == "copy.shop.all"
    topics.topic(table("a b", "x"))
    with pytest.raises(ConfigError, match="same topic"):
        topics.topic(table("a_b", "x"))


@pytest.mark.parametrize(
    ("template", "code"),
    [
        ("{task}.{schema}", "E1003"),
        ("{task", "E1003"),
        ("task}", "E1003"),
        ("{}", "E1003"),
        ("{0}", "E1003"),
        ("{table.name}", "E1003"),
        ("{table!r}", "E1003"),
        ("{table:>9}", "E1003"),
        ("all changes", "E1007"),
        ("{{{table}}}", "E1007"),
    ],
)
def test_templates_are_validated(template: str, code: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Topics(template, "copy")
    assert caught.value.code == code


@pytest.mark.parametrize("name", ["x" * 250, ".", "..", ""])
def test_names_that_kafka_refuses(name: str) -> None:
    with pytest.raises(ConfigError, match=r"E1007.*Kafka does not allow"):
        Topics("{table}", "copy").topic(table("d", name))


@given(st.text(min_size=1, max_size=60), st.text(min_size=1, max_size=60))
def test_whatever_the_names_kafka_takes_the_topic(database: str, name: str) -> None:
    topic = Topics(DEFAULT, "copy").topic(table(database, name))
    assert set(topic) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
