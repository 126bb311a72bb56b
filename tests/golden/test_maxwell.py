"""The zoo on a real MySQL, decoded by our whole pipeline, against what the real Maxwell wrote for it."""

from __future__ import annotations

import contextlib
import json
from collections import Counter

import pytest

from replicator.assembly.planners import Planners
from replicator.config.load import parse_task
from replicator.decode.decoder import BinlogDecoder
from replicator.errors import DecodeError, SourceUnavailable
from replicator.model.batch import Batch
from replicator.model.position import Position
from replicator.source.recorded_source import RecordedSource
from tests.golden.compare import HERE, Record, Variation, documented, load
from tests.golden.maxwell_consumer import same, same_vector, tables
from tests.golden.recording import Recordings, needless
from tests.golden.rules_maxwell import EVERYTHING, RULES, STATEMENT, SYSTEM, VARIATIONS

NAMED = {variation.name: variation for variation in VARIATIONS}
CHANGED_BY_DDL = (
    {"zoo_two.tx_c", "zoo_two.inherits"}
    | {
        f"zoo.{name}"
        for name in ("t_tz", "dml2", "d", "d_renamed", "d_again", "d_like", "tx_c_moved", "swap_a", "part", "onl")
    }
    | {"zoo.drop_recreate"}
)
"""Tables that DDL has emptied, dropped, renamed or given columns after their rows were written."""


@pytest.mark.parametrize("variation", VARIATIONS, ids=str)
def test_records_are_equal_or_a_rule_says_why_not(recordings: Recordings, variation: Variation) -> None:
    report = recordings.report(SYSTEM, variation)
    assert not report.different, "\n".join([f"{len(report.different)}:", *report.different[:20]])
    assert report.equal or variation.script == "vector.sql"  # where Maxwell wrote nothing


def test_every_rule_is_needed(recordings: Recordings) -> None:
    assert not needless([recordings.report(SYSTEM, variation) for variation in VARIATIONS], SYSTEM)


def test_rows_in_statement_format_stop_the_task(recordings: Recordings) -> None:
    """Maxwell loses them, with a line in its log."""
    with pytest.raises(DecodeError, match="E2303"):
        recordings.records(STATEMENT)


def test_positions_are_those_of_the_row_events(recordings: Recordings) -> None:
    """They differ from run to run, but not by how much those of one transaction do."""
    variation = NAMED["full_nopk"]
    theirs = _steps(load(HERE / "data" / "maxwell" / variation.golden))
    ours = _steps(recordings.records(variation))
    assert len([size for size in theirs if size]) > 20
    assert ours == theirs


def _steps(records: list[Record]) -> list[int]:
    """From each row's event to that of the next one in its transaction."""
    steps: list[int] = []
    last: tuple[str, int] | None = None
    for record in records:
        message = json.loads(record.value or b"")
        if "data" in message:
            gtid, position = message["gtid"], int(message["position"].rpartition(":")[2])
            if last is not None and last[0] == gtid:
                steps.append(position - last[1])
            last = gtid, position
    return steps


def test_schema_ids_join_rows_to_the_ddl_before_them(recordings: Recordings) -> None:
    current: dict[tuple[str, str], int] = {}
    rows = 0
    for record in recordings.records(NAMED["full_ids"]):
        message = json.loads(record.value or b"")
        name = message["database"], message.get("table", "")
        if "data" in message:
            assert current.get(name, message["schema_id"]) == message["schema_id"], name
            rows += name in current
        elif message.get("def"):
            current[message["def"]["database"], message["def"]["table"]] = message["schema_id"]
    assert rows > 600


def test_consumers_have_what_the_server_has(recordings: Recordings) -> None:
    """Every section of the zoo, those at which Maxwell exits, too."""
    truth = recordings.truth(EVERYTHING)
    rows = tables(record for record in recordings.records(EVERYTHING) if _table(record) not in CHANGED_BY_DDL)
    wrong: list[str] = []
    compared: Counter[str] = Counter()
    for name, found in rows.items():
        left = list(truth[name])
        for row in found:
            match = next((other for other in left if all(same(row[column], other[column]) for column in row)), None)
            if match is None or set(row) != set(match):
                wrong.append(f"{name}: {row}"[:300])
            else:
                left.remove(match)
                compared[name] += 1
        wrong += [f"{name} lacks {row}"[:300] for row in left]
    assert not wrong, "\n".join([f"{len(wrong)}:", *wrong[:30]])
    assert compared.total() > 500
    assert {"zoo.t_dec", "zoo.chk_ne", "zoo.t_charset_rare", "zoo.xa_t", "zoo.back`tick"} <= set(compared)


def _table(record: Record) -> str:
    message = json.loads(record.value or b"")
    return f"{message['database']}.{message['table']}"


def test_vectors_are_the_servers(recordings: Recordings) -> None:
    variation = NAMED["vector.default"]
    (rows,) = (found for name, found in tables(recordings.records(variation)).items() if name == "zoov.vec")
    truth = recordings.truth(variation)["zoov.vec"]
    assert len(rows) == len(truth) == 2
    for ours, theirs in zip(sorted(rows, key=lambda row: row["id"]), truth, strict=True):
        assert same_vector(ours["v"], theirs["v"])
        assert same_vector(ours["vd"], theirs["vd"])


@pytest.mark.parametrize(("script", "table"), [("compressed", "zooc.c1"), ("partial_json", "zoopj.pj")])
def test_what_maxwell_loses_is_what_the_server_has(recordings: Recordings, script: str, table: str) -> None:
    variation = NAMED[f"{script}.default"]
    left = list(recordings.truth(variation)[table])
    for row in tables(recordings.records(variation))[table]:
        left.remove(next(other for other in left if all(same(row[column], other[column]) for column in row)))
    assert not left


@pytest.mark.parametrize("name", ["default", "commit_info_off", "full_ids"])
def test_records_are_the_same_when_read_again(recordings: Recordings, name: str) -> None:
    """From any position that a batch ends at, inside of transactions too: keys without a primary key, numbers of rows
    and what is known at the end of transactions. (DDL is told where the history is: this decoder has none.)"""
    variation = NAMED[name]
    source = RecordedSource(recordings.files(variation))
    batches = _decoded(variation, source, source.start_position(), 500)
    records = [record for batch in batches for record in batch.records]
    assert len(records) > 600
    inside = [batch.position for batch in batches if batch.position.rows]
    assert bool(inside) == (name == "commit_info_off")  # the others are held until their transaction ends
    at = 0
    for number, batch in enumerate(batches):
        at += len(batch.records)
        if batch.position.rows or number % 40 == 0:
            again = _decoded(variation, source, batch.position, 1 << 20)
            assert [record[:5] for each in again for record in each.records] == [record[:5] for record in records[at:]]


def _decoded(variation: Variation, source: RecordedSource, position: Position, piece: int) -> list[Batch]:
    """What a decoder makes of pieces of so many bytes."""
    origin = {"type": "mysql", "user": "nobody", "password": "env:NOBODY"}
    config = parse_task({"name": "t", "source": origin, "sink": {"type": "stdout", **variation.options}})
    planners = Planners(config)
    stream = source.open(position)
    decoder = BinlogDecoder(
        planners.stream,
        position=stream.position,
        flavor="mysql",
        framing="file",
        server_error=stream.server_error,
        narrator=planners.narrator,
    )
    batches: list[Batch] = []
    with contextlib.suppress(SourceUnavailable):
        while True:
            data = stream.read(0)
            for start in range(0, len(data), piece):
                batches += decoder.feed(data[start : start + piece])
                while decoder.more:
                    batches += decoder.feed(b"")
    return batches


NO_RECORD = {
    "coordinates with more than 16 digits behind the point",
    "utf16le, koi8r, latin7, dec8 and other character sets",
    "XA transactions; DEC, FIXED; NOT ENFORCED; backticks in names",
    "SET in a key with `output_primary_keys`",
    "rows in STATEMENT format",
}
"""What stops Maxwell, or what it never writes: there is nothing to compare."""


def test_the_documentation_has_every_rule_and_no_other() -> None:
    assert documented("maxwell") == {rule.heading for rule in RULES} | NO_RECORD
