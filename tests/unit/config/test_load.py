from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from replicator.config.load import TaskConfigError, load_task, parse_task, to_data
from replicator.config.task import GtidPosition, KafkaSink, LogPosition
from replicator.errors import ConfigError
from tests.support.present import present

GOOD = """\
name: copy_hot_item
source:
  type: mysql            # mysql | mariadb
  host: 127.0.0.1
  port: 3306
  user: replicator
  password: env:REPL_PASSWORD
  tables: ["shop.*", "crm.customer"]
  start: latest
sink:
  type: kafka
  bootstrap_servers: ["127.0.0.1:9092"]
  topic: "{task}.{database}.{table}"
  format: debezium
  delivery: exactly_once
"""


def problems(text: str | bytes) -> list[ConfigError]:
    with pytest.raises(ConfigError) as caught:
        load_task(text)
    return list(getattr(caught.value, "errors", (caught.value,)))


def only(text: str | bytes) -> ConfigError:
    (error,) = problems(text)
    return error


def test_the_documented_task_loads_from_yaml_and_from_json() -> None:
    config = load_task(GOOD)
    assert config.source.tables == ("shop.*", "crm.customer")
    assert config.sink.type == "kafka"
    assert load_task(json.dumps(yaml.safe_load(GOOD))) == config
    assert load_task(b"\xef\xbb\xbf" + GOOD.encode()) == config


def test_data_is_json_complete_and_loads_back() -> None:
    config = load_task(GOOD)
    data = json.loads(json.dumps(to_data(config)))
    assert data["sink"]["partitions"] == 1, "defaults are written out"
    assert data["source"]["password"] == "env:REPL_PASSWORD"
    assert parse_task(data) == config


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ("{file: binlog.000003, position: 4}", LogPosition(file="binlog.000003", position=4)),
        ("{gtid: 1000-11-22}", GtidPosition(gtid="1000-11-22")),
        ("earliest", "earliest"),
    ],
)
def test_start_has_three_forms(start: str, expected: object) -> None:
    assert load_task(GOOD.replace("start: latest", f"start: {start}")).source.start == expected


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("name: [", "line 1, column 8"),
        ("name: x\n\tsource: 1", "line 2, column 1"),
        ("a: 1\nb: 2\na: 3", "line 3, column 1"),
        ("name: x\nsource: !!python/object/apply:os.system [id]", "line 2, column 9"),
        ("name: !!int x", "line 1, column 7"),
        ("? [a]\n: 1", "line 1, column 3"),
        ("name: x\n---\nname: y", "line 2, column 1"),
    ],
)
def test_broken_syntax_names_line_and_column(text: str, place: str) -> None:
    error = only(text)
    assert (error.code, error.found) == ("E1001", place)


@pytest.mark.parametrize("text", [b"\xff\xfe\x00", b"name: \x00", '{"name": "a", "name": "b"}', '{"name": "\\ud800"}'])
def test_other_unreadable_texts(text: str | bytes) -> None:
    assert only(text).code == "E1001"


@pytest.mark.parametrize(
    "text",
    [
        "[" * 21,
        "{" * 5000,
        '{"a":' * 30 + "1" + "}" * 30,
        "name: " + "x" * (256 * 1024),
        '{"a": ' + "9" * 5000 + "}",
    ],
)
def test_bombs_are_refused(text: str) -> None:
    assert only(text).code == "E1008"


@pytest.mark.parametrize("text", ["a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]", "a: &a {b: *a}"])
def test_anchors_and_aliases_are_refused(text: str) -> None:
    error = only(text)
    assert error.code == "E1001" and "anchors and aliases" in error.what


@pytest.mark.parametrize(
    ("written", "meant", "path", "fix"),
    [
        ("port: 3306", "prot: 3306", "source.prot", "Write port"),
        ("format: debezium", "fromat: debezium", "sink.fromat", "Write format"),
        (
            "name: copy_hot_item",
            "name: copy_hot_item\noversize: fail",
            "oversize",
            "Move it to sink",
        ),
        (
            "start: latest",
            "start: {file: b.1, position: 4, kafka: 1}",
            "source.start.kafka",
            "Remove or correct the key.",
        ),
    ],
)
def test_an_unknown_key_comes_with_its_path_and_the_nearest_known_one(
    written: str, meant: str, path: str, fix: str
) -> None:
    error = only(GOOD.replace(written, meant))
    assert (error.code, error.what, error.fix) == ("E1002", f"{path} is not a known key", fix)


@pytest.mark.parametrize(
    ("written", "meant", "path", "found", "wanted"),
    [
        ("port: 3306", "port: '3306'", "source.port", "'3306' on line 5", "a whole number"),
        ("port: 3306", "port: true", "source.port", "True on line 5", "a whole number"),
        ("port: 3306", "port: 70000", "source.port", "70000 on line 5", "less than or equal to 65535"),
        ("user: replicator", "user: 12", "source.user", "12 on line 6", "a string (put it in quotes)"),
        ("start: latest", "start: soon", "source.start", "'soon' on line 9", "'latest' or 'earliest'"),
        ("start: latest", "start: {gtid: 7}", "source.start.gtid", "7 on line 9", "a string (put it in quotes)"),
        (
            "type: kafka",
            "type: kafak",
            "sink",
            "a mapping of kafak on line 10",
            "kafka or file or stdout or mysql or mariadb",
        ),
        ('["127.0.0.1:9092"]', "[1]", "sink.bootstrap_servers[0]", "1 on line 12", "a string (put it in quotes)"),
    ],
)  # fmt: skip
def test_a_wrong_value_comes_with_path_line_and_what_is_wanted(
    written: str, meant: str, path: str, found: str, wanted: str
) -> None:
    error = only(GOOD.replace(written, meant))
    assert (error.code, error.what) == ("E1003", f"{path} has an invalid value")
    assert (error.found, error.wanted) == (found, wanted)


def test_brokers_are_required() -> None:
    error = only(GOOD.replace('["127.0.0.1:9092"]', "[]"))
    assert (error.code, error.what) == ("E1003", "sink: there are no brokers")


def test_a_missing_key() -> None:
    error = only(GOOD.replace("  user: replicator\n", ""))
    assert (error.code, error.what) == ("E1004", "source.user is missing")
    error = only(GOOD.replace("  type: kafka\n", ""))
    assert (error.code, error.what, error.wanted) == (
        "E1004",
        "sink.type is missing",
        "kafka or file or stdout or mysql or mariadb",
    )


@pytest.mark.parametrize("password", ["hunter2", "12345", "[hunter2]", "{env: hunter2}", "'env:'", "'file:relative'"])
def test_a_literal_secret_is_refused_and_never_repeated(password: str) -> None:
    error = only(GOOD.replace("env:REPL_PASSWORD", password))
    assert (error.code, error.what) == ("E1005", "source.password must be a reference, not the secret itself")
    assert "hunter2" not in str(error) and "12345" not in str(error)


def kafka_sink(text: str) -> KafkaSink:
    sink = load_task(text).sink
    assert isinstance(sink, KafkaSink)
    return sink


def test_a_login_at_kafka() -> None:
    sink = "  bootstrap_servers: ['127.0.0.1:9092']\n  sasl: {user: bus, password: 'env:P'}\n"
    text = GOOD.replace('  bootstrap_servers: ["127.0.0.1:9092"]\n', sink)
    assert present(kafka_sink(text).sasl).mechanism == "SCRAM-SHA-512"
    error = only(text.replace("env:P", "hunter2"))
    assert (error.code, error.what) == (
        "E1005",
        "sink.sasl.password must be a reference, not the secret itself",
    ) and "hunter2" not in str(error)
    plain = text.replace("{user", "{mechanism: PLAIN, user")
    assert only(plain).code == "E1003" and "or mechanism SCRAM-SHA-512" in only(plain).wanted
    assert kafka_sink(plain + "  tls: {}\n").tls is not None


def test_a_login_by_token() -> None:
    def sink(sasl: str, tls: str = "  tls: {}\n") -> str:
        addresses = "  bootstrap_servers: ['127.0.0.1:9092']\n"
        return GOOD.replace('  bootstrap_servers: ["127.0.0.1:9092"]\n', f"{addresses}  sasl: {{{sasl}}}\n{tls}")

    mechanism = "mechanism: OAUTHBEARER"
    for source in (
        "token: 'file:/t'",
        "token_command: [/usr/libexec/token, kafka], extensions: {logicalCluster: lkc-1}",
    ):
        assert present(kafka_sink(sink(f"{mechanism}, {source}")).sasl).user is None
    for wrong in (
        mechanism,
        f"{mechanism}, token: 'env:T', token_command: [/t]",
        f"{mechanism}, token: 'env:T', user: bus",
        f"{mechanism}, token: 'env:T', password: 'env:P'",
        "user: bus",
        "password: 'env:P'",
        "user: bus, password: 'env:P', token: 'env:T'",
        "user: bus, password: 'env:P', extensions: {a: b}",
        "",
    ):
        error = only(sink(wrong))
        assert error.code == "E1003" and "does not match its mechanism" in error.what, wrong
    assert only(sink(f"{mechanism}, token: hunter2")).code == "E1005"
    assert "hunter2" not in str(only(sink(f"{mechanism}, token: hunter2")))
    for tls in ("", "  tls: {insecure: true}\n"):
        error = only(sink(f"{mechanism}, token: 'env:T'", tls))
        assert error.code == "E1003" and "send the token" in error.what


@pytest.mark.parametrize(
    "text", ["hunter2", "- hunter2", "source: hunter2", "a: !hunter2", "source: [hunter2]", "sink: {passwd: hunter2}"]
)
def test_values_in_the_wrong_place_are_not_repeated_when_they_may_be_secrets(text: str) -> None:
    shown = " ".join(str(error) for error in problems(text))
    assert "hunter2" not in shown


@pytest.mark.parametrize("name", ["''", "'.'", "'..'", '"a\\nb"', '"a\\0b"', "x" * 101, "'  '", '"\\u202e"'])
def test_names_that_nothing_can_carry_are_refused(name: str) -> None:
    assert only(GOOD.replace("name: copy_hot_item", f"name: {name}")).code == "E1007"


@pytest.mark.parametrize("name", ["copy_hot_item", "a/b", "größe", "商品", "with space", ".hidden", "%41"])
def test_other_names_are_accepted(name: str) -> None:
    assert load_task(GOOD.replace("copy_hot_item", f"'{name}'")).name == name


@pytest.mark.parametrize("topic", ["{table", "{schema}", "a b", "a/{table}", "{}", "{table!r}", "{table.x}", "..", ""])
def test_topic_templates_are_checked(topic: str) -> None:
    assert only(GOOD.replace("{task}.{database}.{table}", topic)).code == "E1003"


def test_all_problems_come_at_once_in_the_order_of_the_text() -> None:
    text = GOOD.replace("port: 3306", "prot: 3306").replace("env:REPL_PASSWORD", "x").replace("exactly_once", "once")
    assert [error.code for error in problems(text)] == ["E1002", "E1005", "E1003"]
    with pytest.raises(TaskConfigError) as caught:
        load_task(text)
    assert caught.value.code == "E1002"
    assert "2 more: E1005 source.password" in caught.value.found
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)  # noqa: S301


def test_plain_data_of_any_kind() -> None:
    given: tuple[Any, ...] = (None, 1, "x", [], {"name": {1, 2}}, {"name": float("nan")})
    for data in given:
        with pytest.raises(ConfigError):
            parse_task(data)


@given(st.binary(max_size=300))
def test_no_bytes_crash_the_loader(data: bytes) -> None:
    with pytest.raises(ConfigError):
        load_task(data)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "source", "sink", "type", "start", "file", "tables", "x"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(_JSON, st.sampled_from(["name", "source", "sink", "tables", "start", "port", "password", "topic", "tls"]))
def test_no_data_crashes_the_loader(value: object, place: str) -> None:
    data = yaml.safe_load(GOOD)
    for mapping in (data, data["source"], data["sink"]):
        if place in mapping:
            mapping[place] = value
    try:
        assert parse_task(data).name
    except ConfigError as error:
        assert error.code.startswith("E100")


@given(st.text(alphabet="{}[]:,&*!|>-'\"?%@ \n\tax1", max_size=60))
def test_no_yaml_crashes_the_loader(text: str) -> None:
    with pytest.raises(ConfigError):
        load_task(text)
