"""Actions in the Monitor: what a page shows before, what is done, and what is refused, with a Server in memory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.monitor.acting import BLUE, RED, Acting, stage, text


@pytest.fixture
def site() -> Iterator[Acting]:
    made = Acting()
    yield made
    made.close()


def test_pause_and_resume(site: Acting) -> None:
    site.log_in("olga")
    page = site.http.get(f"/tasks/{RED}/actions/pause")
    assert page.status_code == 200 and stage(page) == "confirm"
    assert "It is RUNNING on host-a at binlog.000042:4242. It stops at a transaction boundary" in text(page)
    assert site.task()["desired"] == "running", "to look changes nothing"
    fields = site.form("pause") | {"reason": "new switches"}
    done = site.send("pause", fields)
    assert (done.status_code, stage(done)) == (200, "done"), text(done)
    assert fields["key"] in done.text and "Pause was ordered" in text(done)
    task = site.task()
    assert task["desired"] == "paused" and task["desired_reason"] == "new switches"
    assert task["desired_by"].startswith("olga@") and "says Monitor" in task["desired_by"]
    (entry,) = site.audit(operation="pauseTask")
    assert (entry["by"], entry["outcome"], entry["request"]) == ("olga", "done", fields["key"])
    assert entry["says"].startswith("Monitor ") and entry["says"].endswith(" for 127.0.0.1")
    again = site.http.get(f"/tasks/{RED}/actions/pause")
    assert "Nothing would change: it was paused already by olga@" in text(again)
    assert site.send("resume", site.form("resume")).status_code == 200
    assert site.task()["desired"] == "running"


def test_a_switchover_goes_to_the_host_that_was_shown(site: Acting) -> None:
    site.log_in("olga")
    page = site.http.get(f"/tasks/{RED}/actions/switchover")
    assert "It is drained to a transaction boundary, and host-b takes over." in text(page)
    fields = site.form("switchover")
    assert fields["to"] == "host-b"
    done = site.send("switchover", fields)
    assert "It goes to host-b" in text(done) and "command" in text(done)
    (entry,) = site.audit(operation="switchoverTask")
    assert entry["arguments"] == {"to": "host-b"}
    wrong = site.http.get(f"/tasks/{RED}/actions/switchover", params={"to": "host-z"})
    assert stage(wrong) == "choose" and "E5007" in wrong.text and "'host-z' is not a healthy standby" in text(wrong)


def test_what_the_server_would_refuse_is_said_before(site: Acting) -> None:
    site.log_in("olga")
    page = site.http.get(f"/tasks/{RED}/actions/retry")
    assert "E5007" in page.text and "has not failed" in text(page) and 'name="confirm"' not in page.text
    page = site.http.get(f"/tasks/{RED}/actions/position", params={"target": "latest"})
    assert stage(page) == "choose" and "can't be set while it runs" in text(page) and 'name="confirm"' not in page.text
    assert "From binlog.000042:4242" in text(page), "the preview is shown all the same"
    made = site.form("pause") | {"target": "latest"}
    answer = site.send("position", made)
    assert answer.status_code == 409 and "can't be set while it runs" in text(answer)
    assert "Nothing was changed." in text(answer)
    assert site.audit(operation="retryTask") == [], "a dry run that is refused is no entry"


def test_set_position_shows_what_is_repeated_or_lost(site: Acting) -> None:
    site.log_in("olga")
    assert site.send("pause", site.form("pause")).status_code == 200
    site.stand(site.first, RED, "paused")
    page = site.http.get(f"/tasks/{RED}/actions/position")
    assert stage(page) == "choose" and 'name="confirm"' not in page.text
    page = site.http.get(f"/tasks/{RED}/actions/position", params={"target": "file", "file": "binlog.000042"})
    assert "Give the binlog file and the offset" in text(page)
    given = {"target": "file", "file": "binlog.000042", "offset": "99999"}
    page = site.http.get(f"/tasks/{RED}/actions/position", params=given)
    assert "NEVER sent" in page.text and "binlog.000042:99999" in text(page)
    back = site.http.get(f"/tasks/{RED}/actions/position", params={**given, "offset": "4"})
    assert "Sent again" in back.text


def test_the_name_has_to_be_typed(site: Acting) -> None:
    site.log_in("olga")
    fields = site.form("pause")
    for wrong in ("", "task_re", BLUE):
        answer = site.send("pause", fields | {"confirm": wrong, "reason": "kept"})
        assert answer.status_code == 422 and "nothing was done" in text(answer)
        assert 'value="kept"' in answer.text
    assert site.task()["desired"] == "running"


def test_a_check_is_ordered(site: Acting) -> None:
    site.log_in("olga")
    page = site.http.get(f"/tasks/{RED}/actions/check")
    assert "The Core on host-a checks it" in text(page) and 'name="reason"' not in page.text
    assert f"replicator check --via-core --server {site.server} {RED}" in text(page)
    answer = site.send("check", site.form("check"))
    assert (answer.status_code, stage(answer)) == (200, "done"), text(answer)
    (entry,) = site.audit(operation="checkTask")
    assert entry["by"] == "olga"
    assert f'href="/tasks/{RED}/actions/check"' in site.http.get(f"/tasks/{RED}/checks").text


def test_a_form_that_is_sent_twice_is_done_once(site: Acting) -> None:
    site.log_in("olga")
    fields = site.form("restart")
    first, second = site.send("restart", fields), site.send("restart", fields)
    assert (first.status_code, stage(second)) == (200, "done")
    assert len(site.audit(operation="restartTask")) == 1
    assert stage(site.send("restart", site.form("restart"))) == "done"
    assert len(site.audit(operation="restartTask")) == 2, "another form is another request"


def test_what_has_changed_meanwhile_is_not_overrun(site: Acting) -> None:
    site.log_in("olga")
    fields = site.form("pause")
    with site.direct() as http:
        assert http.post(f"/tasks/{RED}/pause", json={"reason": "by somebody else"}).status_code == 200
        answer = site.send("pause", fields)
        assert answer.status_code == 412 and "E4006" in answer.text and "nothing was done" in text(answer)
        assert http.post(f"/tasks/{RED}/resume").status_code == 200
    assert len(site.audit(operation="pauseTask")) == 1


def test_another_version_of_the_configuration_is_refused_by_the_server(site: Acting) -> None:
    """Also where the Monitor did not see it: the version goes with the request."""
    site.log_in("olga")
    answer = site.send("pause", site.form("pause") | {"version": "17"})
    assert answer.status_code == 412 and "version 0" in text(answer)
    assert site.task()["desired"] == "running"


def test_a_task_that_was_created_again_is_another_task(site: Acting) -> None:
    site.log_in("olga")
    fields = site.form("pause")
    path = site.bus.layout.task(RED)
    node = site.bus.admin.get(path)
    site.bus.admin.set(path, node.data.replace(b'"uid":"', b'"uid":"f00d'))
    answer = site.send("pause", fields | {"version": str(node.stat.version + 1)})
    assert answer.status_code == 412 and "task f00d" in text(answer)


def test_drain(site: Acting) -> None:
    site.log_in("olga")
    page = site.http.get("/machines/host-a/actions/drain")
    assert "Hands over 2 tasks: task_blue, task_red." in text(page)
    done = site.send("drain", site.form("drain", "host-a", "machines"), "host-a", "machines")
    assert stage(done) == "done" and "2 tasks: task_blue, task_red" in text(done)
    assert site.audit(operation="drainMachine")[0]["target"] == "host-a"
    done = site.send("undrain", site.form("undrain", "host-a", "machines"), "host-a", "machines")
    assert stage(done) == "done"
    assert site.http.get("/machines/no-such/actions/drain").status_code == 404


def test_commands_to_copy(site: Acting) -> None:
    site.log_in("vera", unlocked=False)
    page = site.http.get(f"/tasks/{RED}/actions")
    assert "Commands for" in page.text and "data-action" not in page.text
    assert f"replicator task pause --server {site.server} {RED}" in text(page)
    assert '"Authorization: Bearer $REPLICATOR_TOKEN"' in text(page)
    assert f"{site.server}/api/v1/tasks/{RED}/pause" in text(page)


def test_the_task_page_offers_what_the_login_may(site: Acting) -> None:
    site.log_in("olga", unlocked=False)
    page = site.http.get(f"/tasks/{RED}").text
    assert f'href="/tasks/{RED}/actions/pause" data-action' in page and "/static/actions.js" in page
    site.log_in("vera", unlocked=False)
    page = site.http.get(f"/tasks/{RED}").text
    assert "data-action" not in page and "/static/actions.js" not in page
    assert f'href="/tasks/{RED}/actions">Commands<' in page
