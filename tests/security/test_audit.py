"""The audit: what changed, failed or was refused, by whom, and from where."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from replicator.coordination.access.audit import AuditLog
from replicator.coordination.in_memory.coordinator import MemoryEnsemble
from replicator.coordination.layout import Layout
from replicator.errors import ProcessError
from replicator.model.audit import AuditEntry
from server.audit import Allowance, Audit, differences
from server.audit_file import AuditFile
from tests.security.site import NAME, PASSWORD, PROD, Site


def test_change_of_a_configuration_is_noted_with_its_difference_and_survives_the_task(site: Site) -> None:
    site.http.post("/tasks?reason=begin", content=PROD)
    site.http.put(f"/tasks/{NAME}", content=PROD.replace("3306", "3307"), headers={"x-replicator-user": "ann@laptop"})
    site.http.post(f"/tasks/{NAME}/pause", json={"reason": "new switches"})
    site.http.delete(f"/tasks/{NAME}?reason=end")
    created, replaced, paused, deleted = site.audit(task=NAME)
    assert {"key": "source.port", "after": 3306} in created["changes"] and created["reason"] == "begin"
    assert replaced["changes"] == [{"key": "source.port", "before": 3306, "after": 3307}]
    for entry, operation in ((created, "createTask"), (replaced, "replaceTask"), (deleted, "deleteTask")):
        assert (entry["operation"], entry["by"], entry["role"]) == (operation, "token:server", "admin")
        assert (entry["address"], entry["outcome"], entry["task"]) == ("127.0.0.1", "done", NAME)
    assert replaced["says"] == "ann@laptop"
    assert (paused["operation"], paused["reason"]) == ("pauseTask", "new switches")
    assert {"key": "source.port", "before": 3307} in deleted["changes"] and deleted["reason"] == "end"


def test_what_changes_nothing_has_no_entry(site: Site) -> None:
    site.http.post("/tasks", content=PROD)
    before = site.audit()
    site.http.get("/tasks")
    site.http.get("/tasks/nothing")
    site.http.put(f"/tasks/{NAME}?dry_run=true", content=PROD.replace("3306", "1"))
    assert site.audit() == before


def test_parameter_that_an_operation_ignores_does_not_hide_it(site: Site) -> None:
    site.http.post("/tasks", content=PROD)
    site.http.post(f"/tasks/{NAME}/maintenance?dry_run=true")
    assert [entry["operation"] for entry in site.audit(task=NAME)] == ["createTask", "maintainTask"]


def test_dry_run_has_no_entry_unless_it_is_refused(site: Site) -> None:
    site.http.post("/tasks", content=PROD)
    assert site.http.post(f"/tasks/{NAME}/pause?dry_run=true").json()["desired"] == "running"
    assert site.http.post(f"/tasks/{NAME}/retry?dry_run=true").status_code == 409
    assert [entry["operation"] for entry in site.audit(task=NAME)] == ["createTask"]
    viewer = site.token("viewer")
    assert site.http.post(f"/tasks/{NAME}/pause?dry_run=true", headers=viewer).status_code == 403
    assert site.audit(task=NAME)[-1]["outcome"] == "refused"


def test_entries_of_an_operation_and_up_to_a_time(site: Site) -> None:
    site.http.post("/tasks", content=PROD)
    site.http.post(f"/tasks/{NAME}/pause", headers={"idempotency-key": "key-1"})
    site.http.post(f"/tasks/{NAME}/resume")
    (pause,) = site.audit(operation="pauseTask")
    assert pause["request"] == "key-1"
    before = site.audit(until_ms=str(pause["time_ms"] - 1))
    assert pause not in before and all(entry["time_ms"] < pause["time_ms"] for entry in before)
    assert pause in site.audit(until_ms=str(pause["time_ms"]))


def test_failed_command_has_its_code(site: Site) -> None:
    site.http.post("/tasks/nothing/pause")
    (entry,) = site.audit()
    assert (entry["outcome"], entry["status"], entry["code"], entry["task"]) == ("failed", 404, "E5003", "nothing")


def test_logins_are_noted_without_their_secrets(site: Site) -> None:
    secret = site.token("viewer", "env=prod", name="ci")["authorization"].removeprefix("Bearer ")
    site.user("ann", "viewer")
    site.http.put("/users/ann/role", json={"role": "operator"})
    site.http.put("/users/ann/password", json={"password": PASSWORD + "2"})
    site.http.delete("/tokens/ci")
    entries = site.audit()
    assert [(entry["operation"], entry["target"]) for entry in entries] == [
        ("createToken", "ci"),
        ("createUser", "ann"),
        ("setUserRole", "ann"),
        ("setPassword", "ann"),
        ("revokeToken", "ci"),
    ]
    assert entries[2]["changes"] == [{"key": "role", "before": "viewer", "after": "operator"}]
    assert PASSWORD not in json.dumps(entries) and secret not in json.dumps(entries)


def test_filters(site: Site) -> None:
    site.http.post("/tasks", content=PROD)
    site.http.post("/tasks/nothing/pause", headers=site.token("operator", name="ci"))
    assert [entry["operation"] for entry in site.audit(by="token:ci")] == ["pauseTask"]
    assert [entry["operation"] for entry in site.audit(outcome="failed")] == ["pauseTask"]
    last = site.audit()[-1]
    assert site.audit(since_ms=str(last["time_ms"]))[-1] == last
    assert site.audit(since_ms=str(last["time_ms"] + 1)) == []
    assert len(site.audit(limit="2")) == 2


def test_log_is_bounded_and_refused_requests_displace_no_changes() -> None:
    coordinator, layout = MemoryEnsemble().session(), Layout()
    log = AuditLog(coordinator, layout)
    log.append(AuditEntry(time_ms=1, operation="first"), refused=False)
    for number in range(20):
        log.append(AuditEntry(time_ms=2 + number, reason="x" * 10_000), refused=True)
    log.trim(kept=5, kept_refused=3)
    assert [entry.time_ms for entry in log.read(100, lambda _: True)] == [1, 19, 20, 21]
    assert all(len(coordinator.get(f"{layout.audit}/{n}").data) < 2000 for n in coordinator.children(layout.audit))
    coordinator.create(f"{layout.audit}/entry-0000000099", b"{")
    assert len(log.read(100, lambda _: True)) == 4


def test_entries_wait_for_zookeeper() -> None:
    ensemble, layout = MemoryEnsemble(), Layout()
    coordinator = ensemble.session()
    log = AuditLog(coordinator, layout)
    audit = Audit(log)
    coordinator.suspend()
    audit.write(AuditEntry(time_ms=1, outcome="done"))
    coordinator.resume()
    audit.flush()
    assert [entry.time_ms for entry in log.read(10, lambda _: True)] == [1]


def test_entry_that_can_not_be_written_does_not_hold_up_others() -> None:
    log = AuditLog(MemoryEnsemble().session(), Layout())
    audit = Audit(log)
    audit.write(AuditEntry(time_ms=1, task="\ud800", outcome="done"))
    audit.write(AuditEntry(time_ms=2, outcome="done"))
    assert [entry.time_ms for entry in log.read(10, lambda _: True)] == [2]


def test_file_has_json_lines_and_is_opened_again_after_rotation(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    file = AuditFile(path)
    file.write(AuditEntry(time_ms=1))
    path.rename(tmp_path / "audit.log.1")
    file.write(AuditEntry(time_ms=2))
    file.close()
    assert path.stat().st_mode & 0o777 == 0o600
    times = [json.loads(each.read_text())["time_ms"] for each in (tmp_path / "audit.log.1", path)]
    assert times == [1, 2]


def test_file_that_can_not_be_opened_again_keeps_the_former_one(tmp_path: Path) -> None:
    path, former = tmp_path / "audit.log", tmp_path / "audit.log.1"
    file = AuditFile(path)
    path.rename(former)
    path.touch(mode=0o644)
    for time_ms in (1, 2):
        with pytest.raises(ProcessError, match="E5073"):
            file.write(AuditEntry(time_ms=time_ms))
    path.chmod(0o600)
    file.write(AuditEntry(time_ms=3))
    file.close()
    times = [[json.loads(line)["time_ms"] for line in each.read_text().splitlines()] for each in (former, path)]
    assert times == [[1, 2], [3]]


def test_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    path.touch(mode=0o644)
    link = tmp_path / "link"
    link.symlink_to(path)
    for wrong in (path, link, tmp_path, tmp_path / "nothing" / "audit.log"):
        with pytest.raises(ProcessError, match="E5073"):
            AuditFile(wrong)


def test_refusals_are_bounded_and_their_number_is_kept() -> None:
    now = [0.0]
    allowance = Allowance(3, 10.0, lambda: now[0])
    assert [allowance.take() for _ in range(6)] == [0, 0, 0, None, None, None]
    now[0] = 10.0
    assert [allowance.take(), allowance.take()] == [3, None]


def test_differences_of_configurations() -> None:
    before = {"a": {"b": 1, "c": [1]}, "d": None, "e": {}}
    after = {"a": {"b": 2, "c": [1, 2]}, "f": "x", "e": {}}
    found = [(one.key, one.before, one.after) for one in differences(before, after)]
    assert found == [("a.b", 1, 2), ("a.c", "[1]", "[1,2]"), ("f", None, "x")]
