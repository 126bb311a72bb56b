"""The zoo on a real MySQL, decoded by our whole pipeline, against what the real Debezium wrote for it."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from replicator.config.debezium import DebeziumOptions
from replicator.decode.binlog import event_types
from replicator.errors import DecodeError
from tests.golden.compare import HERE, Rule, Variation
from tests.golden.debezium_consumer import Consumer, same
from tests.golden.recording import Recordings, needless
from tests.golden.rules_debezium import RULES, SYSTEM, VARIATIONS

NAMED = {variation.name: variation for variation in VARIATIONS}


@pytest.mark.parametrize("variation", VARIATIONS, ids=str)
def test_records_are_equal_or_a_rule_says_why_not(recordings: Recordings, variation: Variation) -> None:
    report = recordings.report(SYSTEM, variation)
    assert not report.different, "\n".join([f"{len(report.different)}:", *report.different[:20]])
    assert report.equal + report.ruled


def test_every_rule_is_needed(recordings: Recordings) -> None:
    assert not needless([recordings.report(SYSTEM, variation) for variation in VARIATIONS], SYSTEM)


def test_the_scripts_make_the_events_that_they_are_about(recordings: Recordings) -> None:
    for name in ("compressed", "default, compressed"):
        assert recordings.kinds(NAMED[name])[event_types.TRANSACTION_PAYLOAD] >= 6
    assert not recordings.kinds(NAMED["default"])[event_types.TRANSACTION_PAYLOAD]
    assert recordings.kinds(NAMED["partial_json"])[event_types.PARTIAL_UPDATE_ROWS] == 18


def test_changes_that_come_as_statements_stop_the_task(recordings: Recordings) -> None:
    """Debezium loses them, with a line in its log."""
    statements = Variation("statement", "t", "", "statement.sql", {"format": "debezium"})
    with pytest.raises(DecodeError, match=r"INSERT INTO s VALUES \(2,'statement format'\)"):
        recordings.records(statements)


def test_updates_that_debezium_loses_lead_to_what_the_server_says(recordings: Recordings) -> None:
    variation = NAMED["partial_json"]
    report = recordings.report(SYSTEM, variation)
    assert report.used["partial-json"] == 21  # 19 updates, one of them of the key: three records
    last: dict[bytes | None, Any] = {}
    for record in (each for each in recordings.records(variation) if each.topic.endswith(".pj")):
        last[record.key] = record.value and json.loads(record.value)["after"]
    truth = {b'{"id":%s}' % str(row["id"]).encode(): row for row in recordings.truth(variation)["zoopj.pj"]}
    assert {key for key, after in last.items() if after} == set(truth)
    for key, row in truth.items():
        assert str(last[key]["v"]) == str(row["v"])
        for name in ("j", "k"):
            assert _exact(last[key][name]) == _exact(row[name])


def _exact(text: str | bytes | None) -> Any:
    return None if text is None else json.loads(text, parse_float=Decimal)


def _lines(by: str) -> str:
    text = (HERE.parent.parent / "docs" / "formats.md").read_text()
    section = text.partition("\n## debezium\n")[2].partition("\n## ")[0]
    heading = {"default": "Debezium defaults", "fault": "Debezium errors", "ours": "Other differences"}[by]
    return next(part for part in section.split("\n### ") if heading in part.partition("\n")[0])


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_the_documentation_has_every_rule(rule: Rule) -> None:
    """In the list of those whose difference it is."""
    lines = [line for line in _lines(rule.by).splitlines() if line.startswith(f"| {rule.heading} |")]
    assert len(lines) == 1, rule.heading


def test_the_documentation_has_every_option() -> None:
    text = (HERE.parent.parent / "docs" / "formats.md").read_text()
    missing = [name for name in DebeziumOptions.model_fields if f"`{name}`" not in text]
    assert not missing


@pytest.mark.parametrize("by", ["default", "fault", "ours"])
def test_the_documentation_has_no_line_without_a_rule(by: str) -> None:
    lines = [line.split(" | ")[0].removeprefix("| ") for line in _lines(by).splitlines() if line.startswith("| ")]
    assert {line for line in lines if line not in ("what", "---")} == {rule.heading for rule in RULES if rule.by == by}


LOSSLESS = {
    "schemas_enable": True,
    "bigint_unsigned_handling_mode": "precise",
    "replace_null_with_default": False,
    "enable_time_adjuster": False,
    "skipped_operations": [],
}


@pytest.mark.parametrize("name", ["default", "default, compressed"])
def test_what_a_consumer_rebuilds_is_what_the_server_says(recordings: Recordings, name: str) -> None:
    """From all sections, those that stop Debezium included; not of tables whose rows a statement changed."""
    whole = Variation(
        "everything", "t", "", "zoo.sql", {"format": "debezium", "debezium": LOSSLESS}, session=NAMED[name].session
    )
    consumer = Consumer()
    consumer.take(recordings.records(whole))
    compared = 0
    for table, rows in recordings.truth(whole).items():
        if table in consumer.altered:
            continue
        mine, fields = list(consumer.tables.get(table, [])), consumer.fields.get(table, {})
        for row in rows:
            found = next(
                (each for each in mine if all(same(each[column], row[column], fields[column]) for column in each)), None
            )
            assert found is not None, (table, row, mine[:3])
            mine.remove(found)
            compared += 1
        assert not mine, (table, mine)
    assert compared > 500
    assert {"zoo.t_invalid_date", "zoo.t_name_auto"} <= set(consumer.tables)
