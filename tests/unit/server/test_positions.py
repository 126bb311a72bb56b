"""Positions over the API, in memory."""

from __future__ import annotations

import httpx
import msgspec
import pytest

from replicator.coordination.leadership.state import State
from replicator.coordination.ports import Set
from replicator.coordination.records import CommandRecord, CommitRecord, PositionHistoryRecord, dump, load
from replicator.coordination.tasks.commands import Commands
from replicator.coordination.tasks.commits import Commits
from replicator.coordination.tasks.history import History
from replicator.coordination.tasks.position_changes import stood
from replicator.errors import VersionConflict
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Position
from tests.support import cores
from tests.support.api import TASK, World
from tests.support.present import present

NAME = "copy_hot_item"
A = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
SAVED = Checkpoint(Position("binlog.000003", 400, f"{A}:1-100"), epoch=7, rows=10)
OLDER = Checkpoint(Position("binlog.000002", 80, f"{A}:1-50"), time_ms=1_795_143_000_000)


@pytest.fixture
def made(world: World) -> World:
    world.http.post("/tasks", content=TASK)
    coordinator, layout = world.bus.coordinator, world.bus.layout
    coordinator.create(layout.last_commit(NAME), dump(CommitRecord(epoch=7, checkpoint=SAVED, released=True)))
    coordinator.create(layout.position_history(NAME))
    coordinator.create(layout.position_history_hour(NAME, 498650), dump(PositionHistoryRecord(points=[OLDER])))
    return world


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def stored(made: World) -> CommitRecord:
    record = Commits(made.bus.coordinator, made.bus.layout).read(NAME).record
    assert record is not None
    return record


def test_a_preview_changes_nothing(made: World) -> None:
    answer = made.http.post(f"/tasks/{NAME}/position?dry_run=true", json={"gtid": f"{A}:1-90"}).json()
    assert (answer["direction"], answer["done"]) == ("back", False)
    assert answer["repeats"] == f"10 transactions: {A}:91-100"
    assert stored(made).checkpoint == SAVED


def test_where_nobody_stands_the_server_writes_it(made: World) -> None:
    answer = made.http.post(f"/tasks/{NAME}/position", json={"file": "binlog.000002", "offset": "157", "reason": "x"})
    assert answer.json()["done"] is True
    record = stored(made)
    assert record.checkpoint is not None
    assert record.checkpoint.position == Position("binlog.000002", 157, reset=1)
    assert (record.epoch, record.released, record.checkpoint.rows) == (7, True, 10)
    last = made.http.get(f"/tasks/{NAME}/history").json()["items"][-1]
    assert (last["event"], last["position"], last["reason"]) == ("position", "binlog.000002:157", "x")


def test_the_present_position_again(made: World) -> None:
    """It is ordered, so that it goes before the one that the sink holds."""
    answer = made.http.post(f"/tasks/{NAME}/position", json={"transaction_start": "true"}).json()
    assert (answer["done"], answer["direction"]) == (True, "nowhere")
    assert present(stored(made).checkpoint).position == msgspec.structs.replace(SAVED.position, reset=1)
    assert code(made.http.post(f"/tasks/{NAME}/position", json={"transaction_start": "no"})) == (422, "E1003")


def test_whoever_leads_without_a_worker_is_ordered_to(made: World) -> None:
    made.core("host-a").stand(NAME, "paused")
    assert made.http.post(f"/tasks/{NAME}/position", json={"at": "2026-11-20T03:00:00+00:00"}).status_code == 200
    (name,) = made.bus.coordinator.children(made.bus.layout.commands(NAME))
    data = made.bus.coordinator.get(f"{made.bus.layout.commands(NAME)}/{name}").data
    record = load(CommandRecord, data)
    assert (record.verb, record.arguments["stood"]) == ("position", stood(SAVED).decode())
    wanted = msgspec.json.decode(record.arguments["checkpoint"], type=Checkpoint)
    assert wanted.position == msgspec.structs.replace(OLDER.position, reset=1)
    assert stored(made).checkpoint == SAVED


def test_not_while_it_runs(made: World) -> None:
    made.core("host-a").stand(NAME, "running")
    assert code(made.http.post(f"/tasks/{NAME}/position", json={"gtid": f"{A}:1"})) == (409, "E5007")
    assert made.http.post(f"/tasks/{NAME}/position?dry_run=true", json={"gtid": f"{A}:1"}).status_code == 200


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, (422, "E1003")),
        ({"file": "binlog.000001"}, (422, "E1003")),
        ({"file": "binlog.000001", "offset": "3"}, (422, "E1003")),
        ({"gtid": "rubbish"}, (422, "E2209")),
        ({"at": "yesterday"}, (409, "E5007")),
        ({"at": "2020-01-01"}, (409, "E5007")),
        ({"gtid": f"{A}:1-100"}, (409, "E5007")),
        ({"where": "there"}, (422, "E1002")),
    ],
)
def test_refused(made: World, body: dict[str, str], expected: tuple[int, str]) -> None:
    assert code(made.http.post(f"/tasks/{NAME}/position", json=body)) == expected
    assert stored(made).checkpoint == SAVED


def test_of_two_the_second_learns_it(made: World) -> None:
    """A term that began after the look: its write comes first."""
    bus = made.bus
    path = bus.layout.last_commit(NAME)
    before = Commits(bus.coordinator, bus.layout).read(NAME)
    bus.coordinator.multi([Set(path, dump(CommitRecord(epoch=9, checkpoint=SAVED)), before.version)])
    with pytest.raises(VersionConflict):
        Commits(bus.coordinator, bus.layout).overwrite(NAME, before, OLDER)
    assert stored(made).epoch == 9


ERROR = {
    "code": "E2307",
    "what": "a value",
    "position": "binlog.000003:500 (WRITE_ROWS_EVENT)",
    "table": "shop.item",
    "transaction": f"{A}:101",
}


def ordered(made: World) -> list[CommandRecord]:
    path = made.bus.layout.commands(NAME)
    return [
        load(CommandRecord, made.bus.coordinator.get(f"{path}/{name}").data)
        for name in sorted(made.bus.coordinator.children(path))
    ]


def test_skip_orders_the_transaction_of_the_error_to_be_passed(made: World) -> None:
    assert code(made.http.post(f"/tasks/{NAME}/skip", json={"transaction": f"{A}:101"})) == (409, "E5007")
    made.core("host-a").stand(NAME, "failed", error=ERROR)
    answer = made.http.post(f"/tasks/{NAME}/skip?dry_run=true", json={}).json()
    assert (answer["transaction"], answer["begins"], answer["rows"]) == (f"{A}:101", "binlog.000003:400", 0)
    assert (answer["problem"], answer["done"], ordered(made)) == (ERROR, False, [])
    answer = made.http.post(f"/tasks/{NAME}/skip", json={"transaction": f" {A.upper()}:101"}).json()
    assert (answer["after"]["gtid"], answer["done"]) == (f"{A}:1-101", True)
    (command,) = ordered(made)
    assert (command.verb, command.arguments) == ("skip", {"transaction": f"{A}:101", "reason": ""})


@pytest.mark.parametrize("asked", [f"{A}:102", f"{A}:100", f"{A}:101-102", "rubbish", "binlog.000003:500"])
@pytest.mark.parametrize("query", ["", "?dry_run=true"])
def test_80_no_other_transaction_can_be_skipped(made: World, asked: str, query: str) -> None:
    """One that does not exist yet would be lost without a word when it comes."""
    made.core("host-a").stand(NAME, "failed", error=ERROR)
    answer = made.http.post(f"/tasks/{NAME}/skip{query}", json={"transaction": asked})
    assert code(answer) == (409, "E5016")
    error = answer.json()["error"]
    assert error["found"] == asked and f"{A}:101" in error["wanted"]
    assert ordered(made) == [] and stored(made).checkpoint == SAVED


def test_80_an_error_that_is_of_no_transaction_leaves_nothing_to_skip(made: World) -> None:
    made.core("host-a").stand(NAME, "failed", error={"code": "E3103", "what": "not allowed"})
    assert code(made.http.post(f"/tasks/{NAME}/skip", json={"transaction": f"{A}:101"})) == (409, "E5016")
    assert code(made.http.post(f"/tasks/{NAME}/skip?dry_run=true", json={})) == (409, "E5016")
    assert code(made.http.post(f"/tasks/{NAME}/skip", json={})) == (422, "E1003")


def test_80_nor_does_a_host_that_is_offline(made: World) -> None:
    made.core("host-a").stand(NAME, "failed", online=False)
    assert code(made.http.post(f"/tasks/{NAME}/skip", json={"transaction": f"{A}:101"})) == (409, "E5016")


@pytest.mark.parametrize(("reason", "added"), [("", ""), ("a test row", ": a test row")])
def test_a_skip_stands_in_the_history(reason: str, added: str) -> None:
    """Ordered of a Core that has failed, carried out by it. Which transaction it was stands there, with the reason."""
    bench = cores.World()
    coordinator, layout = bench.admin, bench.layout
    begun = Checkpoint(Position("binlog.000001", 0, f"{A}:1-100"))
    coordinator.create(layout.last_commit(cores.TASK), dump(CommitRecord(epoch=1, checkpoint=begun, released=True)))
    core = bench.core()
    core.turn()
    core.work()
    core.participant.on_failed({"code": "E3102", "what": "a record is too large", "transaction": f"{A}:101"})
    core.turn()
    arguments = {"transaction": f"{A}:101", "reason": reason}
    Commands(coordinator, layout).submit(cores.TASK, "skip", arguments, "ann")
    bench.settle(2)
    assert core.participant.state is State.RUNNING
    records = [entry.record for entry in History(coordinator, layout).read(cores.TASK)]
    assert [record.kind for record in records] == ["running", "failed", "position", "retry", "running"]
    assert [(record.by, record.reason) for record in records[2:4]] == [
        ("ann", f"transaction {A}:101 skipped{added}"),
        ("ann", ""),
    ]
    checkpoint = Commits(coordinator, layout).read(cores.TASK).checkpoint
    assert checkpoint is not None
    assert (checkpoint.position.reset, checkpoint.position.gtid) == (1, f"{A}:1-101")


def test_reads_position_history(made: World) -> None:
    (point,) = made.http.get(f"/tasks/{NAME}/positions").json()["items"]
    assert (point["position"], point["time_ms"]) == ("binlog.000002:80", OLDER.time_ms)


def test_a_fork_begins_where_the_other_stood(made: World) -> None:
    body = {"name": "again", "at": "2026-11-20T03:00:00+00:00"}
    assert made.http.post(f"/tasks/{NAME}/fork?dry_run=true", json=body).status_code == 204
    answer = made.http.post(f"/tasks/{NAME}/fork", json=body)
    assert answer.status_code == 201
    config = answer.json()["config"]
    assert (config["name"], config["source"]["start"]) == ("again", {"gtid": f"{A}:1-50"})
    assert code(made.http.post(f"/tasks/{NAME}/fork", json=body)) == (409, "E5004")
    assert made.http.post(f"/tasks/{NAME}/fork", json={"name": "now"}).json()["config"]["source"]["start"] == {
        "gtid": f"{A}:1-100"
    }
