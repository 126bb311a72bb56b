"""The zoo on a real MySQL, decoded by our whole pipeline, against what the real Canal wrote for it."""

from __future__ import annotations

from collections import Counter

import pytest

from replicator.encode import canal_messages as proto
from replicator.errors import DecodeError
from tests.golden.canal_consumer import Consumer
from tests.golden.canal_entries import PROTOBUF_SYSTEM, entries, masked, without_ddl_transactions
from tests.golden.compare import HERE, Report, Variation, documented, load
from tests.golden.recording import Recordings, needless
from tests.golden.rules_canal import EVERYTHING, PROTOBUF, PROTOBUF_RULES, RULES, STATEMENT, SYSTEM, VARIATIONS


@pytest.mark.parametrize("variation", VARIATIONS, ids=str)
def test_messages_are_equal_or_a_rule_says_why_not(recordings: Recordings, variation: Variation) -> None:
    report = recordings.report(SYSTEM, variation)
    assert not report.different, "\n".join([f"{len(report.different)}:", *report.different[:20]])
    assert report.equal


def test_every_rule_is_needed(recordings: Recordings) -> None:
    assert not needless([recordings.report(SYSTEM, variation) for variation in VARIATIONS], SYSTEM)


def test_rows_in_statement_format_stop_the_task(recordings: Recordings) -> None:
    """Canal tells the statements, without rows."""
    with pytest.raises(DecodeError, match="E2303"):
        recordings.records(STATEMENT)


def test_protobuf_entries(recordings: Recordings) -> None:
    """Equal to the byte but for what the flat messages differ in, the event's length, the number of the table and that
    of the transaction."""
    theirs = entries(load(HERE / "data" / "canal" / PROTOBUF.golden))[6:]  # without what came before the script
    ours = entries(recordings.records(PROTOBUF))
    report = Report(PROTOBUF_SYSTEM).compare(theirs, without_ddl_transactions(ours))
    assert not report.different, "\n".join([f"{len(report.different)}:", *report.different[:20]])
    assert report.equal > 500
    assert report.used["session-database"]
    shown = {PROTOBUF_SYSTEM.show(record.value or b""): masked(record.value or b"") for record in theirs}
    both = [(shown[text], masked(record.value or b"")) for record in ours if (text := _shown(record.value)) in shown]
    assert len(both) > 500
    assert all(one == other for one, other in both)


def _shown(value: bytes | None) -> str:
    return PROTOBUF_SYSTEM.show(value or b"")


def test_our_packets_hold_one_entry(recordings: Recordings) -> None:
    for record in recordings.records(PROTOBUF):
        messages = proto.Messages.FromString(proto.Packet.FromString(record.value).body)
        assert len(messages.messages) == 1


@pytest.mark.parametrize("flat", [True, False], ids=["flat", "protobuf"])
def test_consumers_have_what_the_server_has(recordings: Recordings, flat: bool) -> None:
    """Every section of the zoo, those where Canal stops, too: rows that records tell of since the last DDL of their
    table are the server's, and where that was CREATE or TRUNCATE, all of them."""
    consumer = Consumer(flat=flat)
    variation = EVERYTHING if flat else _protobuf(EVERYTHING)
    for record in recordings.records(variation):
        consumer.take(record.value or b"")
    truth = recordings.truth(variation)
    wrong: list[str] = []
    compared: Counter[bool] = Counter()
    for name, table in consumer.tables.items():
        compared[table.complete] += len(table.rows)
        wrong += [f"{name}: {found}"[:300] for found in table.differences(truth.get(name, []))]
    assert not wrong, "\n".join([f"{len(wrong)}:", *wrong[:30]])
    assert compared[True] > 500
    assert {"zoo.t_invisible", "zoo.k_temporal", "zoo.t_unicode_column", "zoo.chk_ne", "zoo.back`tick"} <= set(
        consumer.tables
    )


def _protobuf(variation: Variation) -> Variation:
    return Variation("everything, protobuf", variation.task, "", variation.script, PROTOBUF.options)


NO_RECORD = {
    "`old` of an event with several rows",
    "a backtick or characters beyond ASCII in a column's name, YEAR before a signed column",
    "rows in STATEMENT format",
    "transactions without rows (protobuf)",
}
"""What stops Canal, what it never writes, or what is compared as a whole and not by a rule."""


def test_the_documentation_has_every_rule_and_no_other() -> None:
    assert documented("canal") == {rule.heading for rule in (*RULES, *PROTOBUF_RULES)} | NO_RECORD
