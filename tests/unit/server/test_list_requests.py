"""What lists ask of ZooKeeper, and that they have what operators did before."""

from __future__ import annotations

from replicator.config.load import load_task
from replicator.coordination.in_memory.coordinator import MemoryEnsemble
from replicator.coordination.layout import Layout
from server.task_operations import TaskOperations
from tests.support.api import TASK, FakeCore
from tests.support.counted import Counted

AGED = {"cache-control": "max-age=1"}


def test_a_list_that_may_be_a_second_old_costs_nothing() -> None:
    ensemble, layout = MemoryEnsemble(), Layout()
    counted = Counted(ensemble.session())
    operations = TaskOperations(counted.port, layout)
    config = load_task(TASK.encode())
    operations.create(config, "ann")
    operations.tasks()
    counted.taken()
    for _ in range(5):
        assert operations.tasks(max_age_s=60.0)[0].state == operations.task(config.name, max_age_s=60.0).state
    operations.sweep()
    assert counted.taken() == {}
    assert operations.tasks()[0].desired == "running" and counted.taken() == {"catch_up": 1}
    other = TaskOperations(ensemble.session(), layout)
    other.pause(config.name, "bob", "a reason")
    assert operations.tasks()[0].desired == "paused", "what another Server acknowledged"
    FakeCore(ensemble.session(), layout, "host-a").stand(config.name, "PAUSED")
    view = operations.task(config.name)
    assert (view.host, view.desired_by) == ("host-a", "bob")
    other.delete(config.name, "bob", wait=0.0)
    assert operations.tasks()[0].desired == "deleted"


def test_a_deletion_that_was_not_finished_is_swept_and_a_new_task_of_the_name_is_another(world) -> None:
    name = "copy_hot_item"
    api = world.http
    assert api.post("/tasks", content=TASK).status_code == 201
    first = api.get(f"/tasks/{name}", headers=AGED).json()
    assert api.delete(f"/tasks/{name}").status_code == 204
    assert api.get("/tasks").json()["items"] == []
    assert api.post("/tasks", content=TASK).status_code == 201
    again = api.get(f"/tasks/{name}").json()
    assert again["uid"] != first["uid"] and again["version"] == 0
    assert api.post(f"/tasks/{name}/pause").status_code == 200
    assert [item["desired"] for item in api.get("/tasks", headers=AGED).json()["items"]] == ["paused"]


def test_a_header_that_asks_for_something_else_has_no_meaning(world) -> None:
    for value in ("no-cache", "max-age=x", "max-age=-1", "max-age=99999999999999999999", "s-maxage=5", ""):
        assert world.http.get("/tasks", headers={"cache-control": value}).status_code == 200
