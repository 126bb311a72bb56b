"""The zoo on a real MySQL, decoded by us, against what the real Debezium wrote for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from dev.servers import MySQL
from replicator.decode import events
from tests.golden.compare import HERE, Record, by_topic, differences, load, masked
from tests.golden.rules import RULES, Rule
from tests.support.decoded import decoded, kinds
from tests.support.script import run, statements

NOT_RUN = frozenset({"invalid_date", "name_auto"})  # Debezium stops there
XA = frozenset({"xa"})  # we stop there: rows of a transaction that may still be rolled back


class Comparison:
    """Record by record; `unexplained` must stay empty, `used` tells which rules were needed."""

    def __init__(self) -> None:
        self.unexplained: list[str] = []
        self.used: set[str] = set()
        self.equal = 0

    def topic(self, topic: str, theirs: list[Record], ours: list[Record]) -> None:
        if len(theirs) != len(ours):
            self.unexplained.append(f"{topic}: {len(theirs)} records of Debezium's, {len(ours)} of ours")
        for number, (their, our) in enumerate(zip(theirs, ours, strict=False)):
            self._record(f"{topic}[{number}]", their, our)

    def _record(self, where: str, their: Record, our: Record) -> None:
        if their.headers != our.headers:
            self.unexplained.append(f"{where} headers: {their.headers} {our.headers}")
        for part, one, other in (("key", their.key, our.key), ("value", their.value, our.value)):
            if one is None or other is None:
                if one != other:
                    self.unexplained.append(f"{where} {part}: {one} {other}")
            elif part == "value":
                self._text(where, their.topic, masked(one), masked(other))
            else:
                self._text(f"{where} key", their.topic, one, other)

    def _text(self, where: str, topic: str, theirs: str, ours: str) -> None:
        self.equal += theirs == ours
        if theirs == ours:
            return
        for path, one, other in _rows_apart(theirs, ours):
            rule = explanation(f"{topic}.{path.rpartition('/')[2]}", one, other)
            if rule is None:
                self.unexplained.append(f"{where} {path}: {one[:300]} {other[:300]}")
            else:
                self.used.add(rule.name)


def _rows_apart(theirs: str, ours: str) -> list[tuple[str, str, str]]:
    """Differences in the images; the masked rest is no JSON any more and must be equal as it stands."""
    at, of = theirs.find(',"source"'), ours.find(',"source"')
    if at < 0:
        return list(differences(theirs, ours))
    found = list(differences(theirs[:at] + "}", ours[:of] + "}"))
    if theirs[at:] != ours[of:]:
        found.append(("source", theirs[at:], ours[of:]))
    return found


def explanation(column: str, theirs: str, ours: str) -> Rule | None:
    return next((rule for rule in RULES if column in rule.columns and rule.explains(theirs, ours)), None)


@pytest.fixture(scope="module")
def zoo() -> dict[str, list[Record]]:
    return load("zoo.debezium.jsonl.gz")


def records(server: MySQL) -> dict[str, list[Record]]:
    found = decoded(server, "golden", lambda table: table.database != "mysql")
    return by_topic(
        Record(
            topic.removeprefix("golden."),
            key.decode() if key is not None else None,
            value.decode() if value is not None else None,
            tuple((name, text.decode()) for name, text in headers),
        )
        for topic, key, value, _, _, headers in found
    )


@pytest.mark.parametrize("compression", ["OFF", "ON"])
def test_the_type_and_behaviour_zoo(
    zoo: dict[str, list[Record]], make_mysql: Callable[..., MySQL], compression: str
) -> None:
    server = make_mysql(extra_args=[f"--binlog-transaction-compression={compression}"])
    run(server, statements(HERE / "zoo.sql", leave_out=NOT_RUN | XA))
    ours = records(server)
    theirs = {topic: expected for topic, expected in zoo.items() if topic != "zoo.xa_t"}
    assert sorted(ours) == sorted(theirs)
    assert bool(kinds(server)[events.TRANSACTION_PAYLOAD]) == (compression == "ON")
    comparison = Comparison()
    for topic, expected in theirs.items():
        comparison.topic(topic, expected, ours[topic])
    assert not comparison.unexplained, "\n".join([f"{len(comparison.unexplained)}:", *comparison.unexplained[:40]])
    needless = {rule.name for rule in RULES if not rule.columns & {"zoov.vec.v"}} - comparison.used
    assert not needless, f"rules that explain nothing: {needless}"
    assert comparison.equal > 1000


def test_compressed_transactions(make_mysql: Callable[..., MySQL]) -> None:
    """By one session, on and off, of one row and of many."""
    server = make_mysql()
    run(server, statements(HERE / "compressed.sql", leave_out=XA))
    ours, theirs = records(server), load("compressed.debezium.jsonl.gz")
    assert kinds(server)[events.TRANSACTION_PAYLOAD] >= 6
    assert sorted(ours) == sorted(theirs)
    comparison = Comparison()
    for topic, expected in theirs.items():
        comparison.topic(topic, expected, ours[topic])
    assert not comparison.unexplained, comparison.unexplained
    assert not comparison.used


def test_partial_json(make_mysql: Callable[..., MySQL]) -> None:
    """Debezium's own records are equal; the 19 updates that it loses lead to what the server says, in its notation."""
    server = make_mysql()
    run(server, statements(HERE / "partial_json.sql"))
    ((topic, ours),) = records(server).items()
    ((_, theirs),) = load("partial_json.debezium.jsonl.gz").items()
    assert kinds(server)[events.PARTIAL_UPDATE_ROWS] == 18
    known = {(record.key, record.value and masked(record.value), record.headers) for record in theirs}
    lost = [r for r in ours if (r.key, r.value and masked(r.value), r.headers) not in known]
    ops = [json.loads(record.value)["op"] for record in lost if record.value]
    assert ops == ["u"] * 12 + ["d", "c"] + ["u"] * 6
    comparison = Comparison()
    comparison.topic(topic, theirs, [record for record in ours if record not in lost])
    assert not comparison.unexplained, comparison.unexplained
    assert not comparison.used
    last = {record.key: record.value for record in ours}
    for row in server.execute("SELECT id, j, k, v FROM zoopj.pj"):
        after = json.loads(last.pop(f'{{"id":{row[0]}}}') or "")["after"]
        assert [after["id"], after["v"]] == [row[0], row[3]]
        for name, text in (("j", row[1]), ("k", row[2])):
            assert _exact(after[name]) == _exact(text)
    assert not any(last.values())


def _exact(text: str | None) -> Any:
    return None if text is None else json.loads(text, parse_float=Decimal)


def test_vectors(make_mysql: Callable[..., MySQL]) -> None:
    server = make_mysql()
    run(server, statements(HERE / "vector.sql"))
    ours, theirs = records(server), load("vector.debezium.jsonl.gz")
    assert sorted(ours) == sorted(theirs)
    comparison = Comparison()
    for topic, expected in theirs.items():
        comparison.topic(topic, expected, ours[topic])
    assert not comparison.unexplained, comparison.unexplained
    assert comparison.used == {"java-digits-vector"}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_the_documentation_has_every_rule(rule: Rule) -> None:
    text = (HERE.parent.parent / "docs" / "formats.md").read_text()
    lines = [line for line in text.splitlines() if line.startswith(f"| {rule.heading} |")]
    assert len(lines) == 1, rule.heading
    assert lines[0].endswith("| *DDL* |") == rule.ddl, lines[0]
