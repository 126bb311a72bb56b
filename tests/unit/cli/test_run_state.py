"""Whose position `replicator run` goes on from."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from replicator.checkpoint.sqlite import SqliteStore
from replicator.cli.main import main
from replicator.cli.run import _ordered, _with_sink
from replicator.cli.run_snapshot import order_snapshot, with_added_tables, with_snapshot
from replicator.cli.run_state import open_state, replica_name
from replicator.config.load import load_task, parse_task, to_data
from replicator.config.task import StdoutSink, TaskConfig
from replicator.errors import ProcessError, ReplicatorError
from replicator.host.state_directory import state_directory
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Position
from replicator.model.quarantine import Quarantined, TaskOrders
from replicator.model.replica_id import derived
from replicator.model.snapshot_orders import SnapshotOrders
from tests.support.api import TASK

KAFKA = load_task(TASK)
HERE = Checkpoint(Position("b.1", 400))


def into(**sink: Any) -> TaskConfig:
    data = to_data(KAFKA)
    return parse_task({**data, "sink": {**data["sink"], **sink}})


def save(config: TaskConfig, path: Path | None = None, *, chosen: bool = False) -> str:
    store, run = open_state(path, config, chosen=chosen)
    store.save(HERE)
    store.close()
    return run


def loaded(config: TaskConfig, path: Path | None = None, *, chosen: bool = False) -> Checkpoint | None:
    store, _ = open_state(path, config, chosen=chosen)
    try:
        return store.load()
    finally:
        store.close()


def refused(config: TaskConfig, path: Path | None = None) -> ProcessError:
    with pytest.raises(ProcessError) as caught:
        open_state(path, config, chosen=False)
    assert caught.value.code == "E5017"
    return caught.value


def test_82_a_run_to_the_terminal_does_not_move_the_position_of_one_into_kafka(tmp_path: Path) -> None:
    save(_with_sink(KAFKA, "stdout"), chosen=True)
    save(_with_sink(KAFKA, f"file:{tmp_path}/out"), chosen=True)
    assert loaded(KAFKA) is None
    assert loaded(_with_sink(KAFKA, "stdout"), chosen=True) == HERE
    assert loaded(_with_sink(KAFKA, f"file:{tmp_path}/other"), chosen=True) is None
    assert len(list(state_directory().glob("*.sqlite"))) == 4


def test_the_same_sink_in_other_words_is_the_same() -> None:
    save(into(bootstrap_servers=["b:1", "a:1"]))
    assert loaded(into(bootstrap_servers=["a:1", "b:1"], partitions=3, delivery="at_least_once")) == HERE


@pytest.mark.parametrize("sink", [{"bootstrap_servers": ["other:9092"]}, {"topic": "other.{table}"}])
def test_another_sink_of_the_kind_never_begins_now_without_a_word(sink: dict[str, Any], tmp_path: Path) -> None:
    """A broker was added, say: the position is there, under another name."""
    save(KAFKA)
    error = refused(into(**sink))
    (there,) = state_directory().glob("*.sqlite")
    assert str(there) in error.found and f"--state {there}" in error.fix
    assert loaded(into(**sink), there) == HERE, "that is the same position, as the user says"
    assert loaded(into(**sink), tmp_path / "new.sqlite") is None
    assert not list(state_directory().glob("*.sqlite-*"))


def test_the_file_of_an_earlier_version_says_nothing_of_its_sink() -> None:
    old = state_directory() / f"{KAFKA.name}.sqlite"
    SqliteStore(old, KAFKA.name).close()
    store = SqliteStore(old, KAFKA.name)
    store.save(HERE)
    store.close()
    assert str(old) in refused(KAFKA).found
    assert loaded(KAFKA, old) == HERE
    refused(_with_sink(KAFKA, "stdout"), old)


def test_a_file_that_is_given_is_of_one_kind_of_sink(tmp_path: Path) -> None:
    state = tmp_path / "state.sqlite"
    save(_with_sink(KAFKA, "stdout"), state, chosen=True)
    error = refused(KAFKA, state)
    assert (error.found, error.wanted.startswith("kafka: 127.0.0.1:9092")) == ("stdout", True)
    assert loaded(_with_sink(KAFKA, "stdout"), state) == HERE


def test_two_at_once_on_one_file() -> None:
    store, _ = open_state(None, KAFKA, chosen=False)
    with pytest.raises(ProcessError) as caught:
        open_state(None, KAFKA, chosen=False)
    assert caught.value.code == "E5010"
    store.close()
    loaded(KAFKA)


def test_82_a_runs_replica_id_is_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server throws out the reader that came first: that would be the bus's task."""
    first, second = save(KAFKA, tmp_path / "a"), save(KAFKA, tmp_path / "b")
    ids = {derived(replica_name(first)), derived(replica_name(second)), derived(KAFKA.name)}
    monkeypatch.setattr("socket.gethostname", lambda: "elsewhere")
    assert len(ids | {derived(replica_name(first))}) == 4
    assert save(KAFKA, tmp_path / "a") == first, "as long as the file is"
    assert len(first) == 12 and int(first, 16) >= 0


def test_a_file_that_is_made_again_is_another_life_of_the_same_run(tmp_path: Path) -> None:
    path = tmp_path / "a"
    store, run = open_state(path, KAFKA, chosen=False)
    uid = store.uid
    store.close()
    path.unlink()
    store, again = open_state(path, KAFKA, chosen=False)
    store.close()
    assert again == run and store.uid != uid, "what the first one left at the sink is found, and is not its own"


def test_what_is_in_quarantine_is_remembered(tmp_path: Path) -> None:
    store, _ = open_state(tmp_path / "a", KAFKA, chosen=False)
    asked = _ordered(store, ["shop.item"], [], [])
    assert list(asked.tables) == ["shop.item"] and _ordered(store, [], [], []) == asked
    with pytest.raises(ProcessError):
        _ordered(store, [], [], ["shop.item"])
    time_ms = asked.tables["shop.item"]
    store.save(msgspec.structs.replace(HERE, quarantined=(Quarantined("shop.item", HERE.position, None, time_ms, {}),)))
    assert _ordered(store, [], [], ["shop.item"]) == TaskOrders(replay={"shop.item": time_ms})
    assert _ordered(store, [], ["shop.item"], []).mended == {"shop.item": time_ms}
    store.close()


def test_tables_that_a_changed_file_adds_are_read_once(tmp_path: Path) -> None:
    def run(tables: list[str], snapshot: str = "initial") -> SnapshotOrders:
        data = to_data(KAFKA)
        data["source"] |= {"tables": tables, "snapshot": snapshot}
        return with_added_tables(store, parse_task(data)).snapshots

    store, _ = open_state(tmp_path / "a", KAFKA, chosen=False)
    assert run(["shop.a"]) == run(["shop.a", "shop.b"]) == SnapshotOrders(), "no position: the initial one has them"
    store.save(HERE)
    asked = run(["shop.a", "shop.c"])
    (request,) = asked.requests
    assert (request.version, request.tables) == (3, ("shop.c",)) and request.known[0].tables == ("shop.a", "shop.b")
    assert run(["shop.a", "shop.c"]) == run(["shop.a"]) == asked and store.orders().snapshots == asked
    assert run(["shop.a"], "never").requests == ()
    assert run(["shop.a"]).requests == ()
    store.close()


@pytest.mark.parametrize(
    ("table", "where", "code"),
    [
        ("mysql.user", None, "E1003"),
        ("shop.*", None, "E1003"),
        ("shop.item", "", "E1003"),
        ("shop.ill", None, "E5007"),
    ],
)
def test_a_snapshot_that_is_refused_is_not_remembered(tmp_path: Path, table: str, where: str | None, code: str) -> None:
    store, _ = open_state(tmp_path / "a", KAFKA, chosen=False)
    store.save(msgspec.structs.replace(HERE, quarantined=(Quarantined("shop.ill", HERE.position, None, 5, {}),)))
    with pytest.raises(ReplicatorError, match=code):
        order_snapshot(store, KAFKA, [table], where)
    assert store.orders() == TaskOrders()
    store.close()


def test_a_first_run_with_a_snapshot_of_its_own_takes_no_order(tmp_path: Path) -> None:
    store, _ = open_state(tmp_path / "a", KAFKA, chosen=False)
    with pytest.raises(ProcessError, match="E5007"):
        order_snapshot(store, with_snapshot(KAFKA), ["shop.item"], None)
    store.close()


def test_a_condition_needs_a_table(tmp_path: Path) -> None:
    (tmp_path / "task.yaml").write_text(TASK)
    ended = CliRunner().invoke(main, ["run", "-f", str(tmp_path / "task.yaml"), "--where", "id > 5"])
    assert ended.exit_code == 2 and "--where is a condition of --snapshot" in ended.output


def test_rubbish_is_no_state(tmp_path: Path) -> None:
    path = tmp_path / "a"
    save(KAFKA, path)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE owner SET body = 'rubbish'")
    database.close()
    with pytest.raises(ProcessError) as caught:
        open_state(path, KAFKA, chosen=False)
    assert caught.value.code == "E5010"


def test_another_sink_gets_the_records_that_consumers_get() -> None:
    config = into(topic="t.{table}", debezium={"decimal_handling_mode": "string"})
    sink = _with_sink(config, "stdout").sink
    assert isinstance(sink, StdoutSink)
    assert (sink.type, sink.topic, sink.debezium.decimal_handling_mode) == ("stdout", "t.{table}", "string")
