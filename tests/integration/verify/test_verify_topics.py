"""`replicator verify` of a task that writes topics, on real servers."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from kafka import TopicPartition
from kafka.admin import KafkaAdminClient

from dev.servers import Database, Kafka
from replicator.assembly.nightly import verify_task
from replicator.cli.main import main
from replicator.cli.verify_output import NoLine
from replicator.config.load import to_data
from replicator.errors import ProcessError
from replicator.verify.report import TableResult
from replicator.verify.verifier import Wanted
from tests.servers import new_database
from tests.support.api import TOKEN, memory_worlds
from tests.support.consume import read_all
from tests.support.script import run, statements
from tests.support.verified_topics import PASSWORD, Topics

ZOO = Path(__file__).parents[2] / "support" / "type_zoo.sql"
ITEM = """CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(40), secret VARCHAR(40), price DECIMAL(8,2) DEFAULT 1.5,
    at DATETIME(6), day DATE, doc JSON, kind ENUM('a','b'), data VARBINARY(20), flag BOOL, left_out INT)"""
PAIR = "CREATE TABLE pair (a INT, b VARCHAR(20), v BIGINT UNSIGNED, PRIMARY KEY (a, b))"
TRANSFORMS = {
    "mask": [{"tables": ["*.item"], "columns": ["secret"], "hash": "env:REPL_VERIFY_MASK"}],
    "columns": [{"tables": ["*.item"], "exclude": ["left_out"]}],
    "rename": [{"tables": ["*.item"], "columns": {"name": "title"}}],
    "filter": [{"tables": ["*.item"], "where": "kind IS NULL OR kind <> 'b'"}],
}


@pytest.fixture(autouse=True)
def _secrets(monkeypatch: pytest.MonkeyPatch, mysql: Database) -> None:
    monkeypatch.setenv("REPL_VERIFY_MASK", "a key of more than sixteen bytes")
    monkeypatch.setenv(PASSWORD, mysql.replicator[1])


def counts(result: TableResult) -> tuple[Any, ...]:
    return (result.result, result.missing, result.extra, result.different, result.changing, result.unrecorded)


@pytest.mark.parametrize(
    ("form", "sink", "server"),
    [
        ("debezium", {"partitions": 3}, "mysql"),
        ("maxwell", {"delivery": "at_least_once"}, "mariadb"),
        ("canal", {}, "mysql"),
    ],
)
def test_planted_differences(
    request: pytest.FixtureRequest,
    kafka: Kafka,
    monkeypatch: pytest.MonkeyPatch,
    form: str,
    sink: dict[str, Any],
    server: str,
) -> None:
    monkeypatch.setattr("replicator.assembly.rendered_rows._CHUNK_BYTES", 1)  # each SELECT has one row
    database_server: Database = request.getfixturevalue(server)
    with new_database(database_server) as database:
        task = Topics(database_server, kafka, database, sink={"format": form, **sink}, transforms=TRANSFORMS)
        task.run(ITEM, PAIR, "CREATE TABLE bare (v INT)", "INSERT INTO item (id) VALUES (1000)")
        task.deliver()  # begins here: the topics have never had the row before
        task.run(
            "SET sql_mode = ''",
            "INSERT INTO item VALUES (1, 'one', 'x', 1.10, '2024-02-29 12:00:00.123456', '0000-00-00', "
            """'{"b": [1, 2.50], "a": null}', 'a', x'00ff', 1, 7)""",
            "INSERT INTO item VALUES (2, 'two', 'y', NULL, NULL, '0050-01-01', NULL, NULL, '', 0, 8)",
            "INSERT INTO item (id, kind) VALUES (3, 'b'), (4, 'a'), (5, 'a'), (6, NULL), (7, NULL)",
            "UPDATE item SET id = 50, secret = 'z' WHERE id = 5",
            "UPDATE item SET kind = 'b' WHERE id = 4",
            "DELETE FROM item WHERE id = 6",
            "INSERT INTO pair VALUES (1, 'a', 18446744073709551615), (1, 'b', 2), (2, 'ä', 3)",
            "UPDATE pair SET v = v - 1",
            "DELETE FROM pair WHERE b = 'b'",
        )
        task.deliver()
        found = task.verify()
        assert counts(found["item"]) == ("equal", 0, 0, 0, 0, 1), found["item"]
        assert counts(found["pair"]) == ("equal", 0, 0, 0, 0, 0), found["pair"]
        assert (found["item"].rows, found["pair"].rows, found["bare"].result) == (4, 2, "not_compared")
        assert found["item"].not_compared == {"left_out": "excluded by the task"}
        task.run(
            "INSERT INTO item (id) VALUES (6)",  # that the topic had, and has a delete of
            "DELETE FROM item WHERE id = 50",
            "UPDATE item SET secret = 'other' WHERE id = 1",
            "UPDATE item SET left_out = 0, doc = JSON_OBJECT('b', 1) WHERE id = 2",
            "INSERT INTO item (id, kind) VALUES (60, 'b')",
            "INSERT INTO pair VALUES (9, 'new', 1)",
            "DELETE FROM pair WHERE a = 2",
            logged=False,
        )
        found = task.verify()
        assert counts(found["item"]) == ("differs", 1, 1, 2, 0, 1), found["item"]
        assert counts(found["pair"]) == ("differs", 0, 1, 0, 0, 1), found["pair"]
        assert [(each.verdict, each.key) for each in found["pair"].samples] == [("extra", {"a": "2", "b": "ä"})]
        told = {(each.verdict, each.key["id"].strip('"'), each.columns) for each in found["item"].samples}
        assert told == {
            ("missing", "6", ()),
            ("extra", "50", ()),
            ("different", "1", ("secret",)),
            ("different", "2", ("doc",)),
        }
        complete = task.verify(f"{database}.pair", complete=True)["pair"]
        assert counts(complete) == ("differs", 1, 1, 0, 0, 0)


SECTIONS = {"mysql": {"both", "json", "mysql", "beyond_both", "beyond_mysql"}, "mariadb": {"both", "json", "mariadb"}}


@pytest.mark.parametrize(
    ("server", "sink"),
    [
        ("mysql", {"format": "debezium"}),
        ("mariadb", {"format": "debezium", "debezium": {"time_precision_mode": "isostring", "schemas_enable": True}}),
        ("mysql", {"format": "maxwell", "maxwell": {"output_nulls": False}}),
        ("mariadb", {"format": "canal"}),
    ],
    ids=["debezium", "isostring", "maxwell", "canal"],
)
def test_values_of_all_types_are_equal(
    request: pytest.FixtureRequest, kafka: Kafka, server: str, sink: dict[str, Any]
) -> None:
    """Also those that a format does not write: the rows of the source are compared as the task writes them."""
    database_server: Database = request.getfixturevalue(server)
    with new_database(database_server) as database:
        task = Topics(database_server, kafka, database, sink=sink)
        task.deliver()
        run(database_server, statements(ZOO, only=SECTIONS[server]), database=database)
        task.run(
            "CREATE TABLE made (id INT PRIMARY KEY, v INT, w INT AS (v + 1) VIRTUAL, s INT AS (v + 2) STORED, "
            "d DECIMAL(5,2) DEFAULT 1.5, b BOOL DEFAULT TRUE, t TIMESTAMP NULL DEFAULT '2020-01-01 00:00:00', "
            "c VARCHAR(20) DEFAULT 'é' COLLATE utf8mb4_bin, e ENUM('a', 'b') DEFAULT 'b', k DATE DEFAULT '2020-02-02')",
            "INSERT INTO made (id, v) VALUES (1, 1), (2, NULL)",
            "INSERT INTO made (id, d, b, t, c, e, k) VALUES (3, NULL, NULL, NULL, NULL, NULL, NULL)",
            "UPDATE made SET v = v + 1",
        )
        task.deliver()
        found = task.verify()
    wrong = {name: (each.result, each.note, each.samples) for name, each in found.items() if each.result != "equal"}
    assert not wrong
    assert len(found) >= 18 and all(each.rows and not each.unrecorded for each in found.values())


def test_columns_that_are_added_and_a_task_that_is_behind(
    mysql: Database, kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    with new_database(mysql) as database:
        task = Topics(mysql, kafka, database, source={"snapshot": "initial"})
        task.run("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 1), (2, 2)")
        task.deliver()
        task.run("ALTER TABLE t ADD COLUMN w INT DEFAULT 5", "INSERT INTO t VALUES (3, 3, 3)")
        with pytest.raises(ProcessError) as raised:
            task.verify(wait=0.2)
        assert raised.value.code == "E5031"
        task.deliver()
        found = task.verify()["t"]
        assert counts(found) == ("equal", 0, 0, 0, 0, 0) and found.rows == 3
        assert found.not_compared == {"w": "in records from before the column was added"}
        task.run("INSERT INTO t VALUES (4, 4, 4)", logged=False)  # tasks with a snapshot have all rows in their topics
        with memory_worlds() as make:
            world = make()
            monkeypatch.setenv("REPLICATOR_SERVER", world.bus.url)
            monkeypatch.setenv("REPLICATOR_TOKEN", TOKEN)
            assert world.http.post("/tasks", content=json.dumps(to_data(task.config))).status_code == 201
            made = CliRunner().invoke(main, ["verify", task.config.name, "-o", "json"])
            assert made.exit_code == 1, made.output
            (table,) = json.loads(made.stdout)["tables"]
            assert (table["missing"], table["target"]) == (1, f"topic {task.config.name}.{database}.t")
            assert table["samples"] == [{"verdict": "missing", "key": {"id": "4"}, "columns": []}]
            kept = world.http.get(f"/tasks/{task.config.name}").json()["verification"]
            assert (kept["result"], kept["tables"][0]["missing"], kept["tables"][0]["rows"]) == ("differs", 1, 4)


def test_truncate_and_records_that_have_expired(mysql: Database, kafka: Kafka) -> None:
    with new_database(mysql) as database:
        sink = {"debezium": {"skipped_operations": []}, "topic": "{task}"}  # both tables in one topic, with tombstones
        task = Topics(mysql, kafka, database, sink=sink)
        task.run("CREATE TABLE a (id INT PRIMARY KEY)", "CREATE TABLE b (id INT PRIMARY KEY)")
        task.deliver()
        task.run("INSERT INTO a VALUES (1), (2)", "INSERT INTO b VALUES (1), (2)", "DELETE FROM b WHERE id = 2")
        task.run("TRUNCATE a", "INSERT INTO a VALUES (3)")
        task.deliver()
        found = task.verify(f"{database}.a")
        assert (counts(found["a"]), found["a"].rows) == (("equal", 0, 0, 0, 0, 0), 1)
        found = task.verify()
        assert (counts(found["b"]), found["b"].rows) == (("equal", 0, 0, 0, 0, 0), 1)
        admin = KafkaAdminClient(bootstrap_servers=kafka.bootstrap)
        (record,) = [each for each in read_all(kafka.bootstrap, task.config.name) if b'"op":"t"' in (each.value or b"")]
        admin.delete_records({TopicPartition(task.config.name, 0): record.offset})
        admin.close()
        found = task.verify()
        assert counts(found["a"]) == ("equal", 0, 0, 0, 0, 0)
        assert counts(found["b"]) == ("equal", 0, 0, 0, 0, 1)
        assert f"begins at offset {record.offset}; cleanup.policy=delete" in found["b"].note


class _Interrupted(NoLine):
    """At the beginning of a table; "": never. `seen`: tables whose rows were read."""

    def __init__(self, name: str = "") -> None:
        self.name, self.seen = name, list[str]()

    def table(self, wanted: Wanted, number: int, count: int) -> None:
        if wanted.table.endswith(f".{self.name}"):
            raise KeyboardInterrupt
        self.seen.append(wanted.table[-1])


def test_an_interrupted_comparison_goes_on(mysql: Database, kafka: Kafka, tmp_path: Path) -> None:
    """By --state, and by night: topics that are finished are not read again."""
    state = tmp_path / "state"
    with new_database(mysql) as database:
        task = Topics(mysql, kafka, database)
        task.run(*(f"CREATE TABLE {name} (id INT PRIMARY KEY)" for name in "abc"))
        task.deliver()
        task.run(*(f"INSERT INTO {name} VALUES (1), (2)" for name in "abc"))
        task.deliver()
        with pytest.raises(KeyboardInterrupt):
            task.verify(state=state, observer=_Interrupted("c"))
        task.run("UPDATE a SET id = 7 WHERE id = 1", "UPDATE c SET id = 7 WHERE id = 1", logged=False)
        with pytest.raises(ProcessError, match="E5033"):
            task.verify(f"{database}.c", state=state)
        goes_on = _Interrupted()
        found = task.verify(state=state, observer=goes_on)
        assert goes_on.seen == ["c"] and [*found] == ["a", "b", "c"] and not state.exists()
        assert [found[name].result for name in "abc"] == ["equal", "equal", "differs"]

        moments = iter([0.0, 0.0])  # then a comparison of the first table has taken very long
        ended = verify_task(task.config, "", {}, lambda: None, partial(next, moments, 1e9))
        assert [(each.table[-1], each.result) for each in ended.tables] == [("a", "undecided")], ended

        compared, last = list[str](), dict[str, int]()
        for night in range(3):
            moments = iter([0.0] * 4)  # three looks at the clock while one table is compared
            ended = verify_task(task.config, "", last, lambda: None, partial(next, moments, 1e9))
            last |= {each.table: each.time_ms + night for each in ended.tables}
            compared += [each.table[-1] for each in ended.tables]
            assert ended.stage == "incomplete" or night == 2, ended
        assert compared == ["a", "b", "c"]
