"""/metrics, read back with Prometheus' own parser."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from monitor.alerts.shown import RouteView, SenderView
from monitor.metrics import exposition
from monitor.render import Renderer
from monitor.view import View
from replicator.coordination.machines.report_ages import ReportAges
from replicator.coordination.records import CoreCounts
from replicator.model.activity import Activity
from replicator.model.histogram import Histogram
from replicator.model.retrying import Retrying
from replicator.model.verification import VerifiedTable
from tests.unit.monitor.scene import Bus, night, small
from tests.unit.monitor.test_view_builder import Eye

SERIES_PER_TASK = 70
"""Of a healthy task with one standby. docs/limits.md says it."""


def samples(view: View) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    text = exposition(view, streams=2).decode()
    families = text_string_to_metric_families(text)
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


def value(view: View, name: str, /, **labels: str) -> Any:
    return samples(view).get((name, tuple(sorted(labels.items()))))


def test_figures_of_a_task() -> None:
    view = Eye(small()).look()
    task = "copy_hot_item"
    assert value(view, "bus_task_running_members", task=task) == 1
    assert value(view, "bus_task_standby_members", task=task) == 1
    assert value(view, "bus_task_lag_seconds", task=task) == 0.02
    assert value(view, "bus_task_events_total", task=task) == 1234
    assert value(view, "bus_task_state", task=task, state="RUNNING") == 1
    assert value(view, "bus_task_role", task=task, host="host-b", role="STANDBY") == 1
    assert value(view, "bus_machine_online", host="host-a") == 1
    assert value(view, "bus_zookeeper_connected") == 0, "only the poller knows it (test_outage.py)"
    assert value(view, "bus_monitor_streams") == 2


def test_every_name_has_the_prefix_and_the_night_parses() -> None:
    view = Eye(night()).look()
    found = samples(view)
    assert all(name.startswith("bus_") for name, _ in found)
    assert found[("bus_task_running_members", (("task", "inventory"),))] == 0
    assert found[("bus_config_invalid", (("task", "audit_trail"),))] == 1


def test_maintenance_retention_headroom_and_dead_letters() -> None:
    view = Eye(night()).look()
    found = samples(view)
    task = (("task", "sessions_of_three_servers"),)
    assert found[("bus_task_maintenance", task)] == 1
    assert found[("bus_source_retention_headroom_seconds", task)] == 19_000
    assert value(view, "bus_dead_letters_total", task=task[0][1], reason="too_large") == 3
    assert found[("bus_target_conflicts_total", task)] == 7
    kind = {"policy": "keep_target", "kind": "missing"}  # an earlier version has counted one more
    assert value(view, "bus_target_conflicts_by_kind_total", task=task[0][1], **kind) == 6
    assert found[("bus_task_maintenance", (("task", "prices"),))] == 0


@pytest.mark.parametrize(("by_sql", "mode"), [(False, "binlog"), (True, "sql")])
def test_how_rows_are_applied(*, by_sql: bool, mode: str) -> None:
    bus = Bus()
    bus.task("copy", sink={"type": "mariadb", "host": "db2.shop.internal"})
    assert [name for name, _ in samples(Eye(bus).look()) if "apply_info" in name] == []
    bus.commit("copy", 7, offset=4, by_sql=by_sql)
    view = Eye(bus).look()
    assert value(view, "bus_target_apply_info", task="copy", mode=mode) == 1
    assert len([name for name, _ in samples(view) if "apply_info" in name]) == 1


def test_snapshots() -> None:
    found = samples(Eye(night()).look())
    task = (("task", "orders_to_lake"),)
    names = ("running", "rows", "rows_expected", "tables", "tables_complete")
    assert [found[(f"bus_snapshot_{name}", task)] for name in names] == [1, 4_200_000, 10_000_000, 7, 2]
    assert ("bus_snapshot_running", (("task", "inventory"),)) not in found


def test_the_view_of_a_consistent_snapshot() -> None:
    found = samples(Eye(night()).look())
    task, other = (("task", "prices"),), (("task", "orders_to_lake"),)
    names = ("consistent", "views", "rows_again")
    assert [found[(f"bus_snapshot_{name}", task)] for name in names] == [1, 3, 5400]
    assert found[("bus_snapshot_lock_seconds", task)] == 0.0007
    assert abs(found[("bus_snapshot_view_timestamp_seconds", task)] - time.time() + 60) < 30
    assert found[("bus_snapshot_consistent", other)] == 0
    assert ("bus_snapshot_lock_seconds", other) not in found


def test_the_outlook() -> None:
    found = samples(Eye(night()).look())
    task = (("task", "returns"),)
    assert found[("bus_certificate_expiry_timestamp_seconds", task)] == pytest.approx(time.time() + 86_400, abs=60)
    assert found[("bus_late_consumer_groups", task)] == 1
    assert ("bus_certificate_expiry_timestamp_seconds", (("task", "prices"),)) not in found


def test_no_lag_without_running() -> None:
    assert value(Eye(night()).look(), "bus_task_lag_seconds", task="inventory") is None


def of_task(**more: Any) -> View:
    view = Eye(small()).look()
    return msgspec.structs.replace(view, tasks=(msgspec.structs.replace(view.tasks[0], **more),))


def test_a_task_that_retries() -> None:
    task = "copy_hot_item"
    assert not [name for name, _ in samples(Eye(small()).look()) if "retry" in name]
    retrying = Retrying(side="sink", code="E3002", seconds=77.0, attempts=2)
    view = of_task(retrying=retrying, lag_s=76.0)
    assert value(view, "bus_task_retrying_seconds", task=task, side="sink") == 77
    assert value(view, "bus_task_retry_attempts", task=task, side="sink") == 2
    assert value(view, "bus_task_lag_seconds", task=task) == 76
    assert value(of_task(retrying=Retrying(side="")), "bus_task_retrying_seconds", task=task, side="other") == 0


def test_lag_that_is_unknown_is_absent_and_said_to_be() -> None:
    task = "copy_hot_item"
    assert value(Eye(small()).look(), "bus_task_lag_unknown", task=task) == 0
    view = of_task(lag_s=None, figures_old=True, figures_age_s=7.5)
    assert value(view, "bus_task_lag_seconds", task=task) is None
    assert value(view, "bus_task_lag_unknown", task=task) == 1
    assert value(view, "bus_task_figures_age_seconds", task=task) == 7.5
    assert value(view, "bus_lease_remaining_seconds", task=task) is None


def test_clock_skew() -> None:
    assert value(Eye(small()).look(), "bus_task_clock_skew_seconds", task="copy_hot_item") is None
    assert value(of_task(clock_skew_s=-3.5), "bus_task_clock_skew_seconds", task="copy_hot_item") == -3.5


def test_fail_overs_are_counted() -> None:
    bus = small()
    eye = Eye(bus)
    eye.look()
    bus.happened("copy_hot_item", "running", 0, host="host-b", epoch=2**40, seconds=3.0)
    view = eye.look()
    assert value(view, "bus_failovers_total", task="copy_hot_item", reason="fail-over") == 1
    assert value(view, "bus_failover_duration_seconds_bucket", le="5.0") == 1
    assert value(view, "bus_failover_duration_seconds_bucket", le="2.0") == 0
    assert value(view, "bus_failover_duration_seconds_sum") == 3.0


def test_stale_figures_are_left_out() -> None:
    view = View(root="/r", tasks=Eye(small()).look().tasks, stale_since_ms=1, read_ms=1)
    found = {name for name, _ in samples(view)}
    assert "bus_zookeeper_connected" in found
    assert "bus_task_lag_seconds" not in found


def documented(text: str) -> set[str]:
    return set(re.findall(r"bus_[a-z0-9_]+", text))


def test_every_metric_is_documented_and_every_alert_is_about_one() -> None:
    root = Path(__file__).parents[3]
    sender = SenderView(configured=True, routes=(RouteView(name="all", kind="webhook", to="h"),))
    text = exposition(Eye(night()).look(), streams=0, labels=("env",), sender=sender).decode()
    exported = set(re.findall(r"^# TYPE (\S+) ", text, re.MULTILINE))
    assert documented((root / "docs/metrics.md").read_text()) == exported
    groups = yaml.safe_load((root / "deploy/alerts.yaml").read_text())["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    assert len({rule["alert"] for rule in rules}) == len(rules)
    for rule in rules:
        found = {name.removesuffix("_bucket") for name in documented(rule["expr"])}
        assert found and found <= exported, rule["alert"]
        assert rule["labels"]["severity"] in ("info", "warning", "critical")
        notes = rule["annotations"]
        assert notes["runbook"] == f"docs/runbooks.md#{rule['alert'].lower()}"
        assert notes["summary"] and notes["description"].endswith(".")
        for text in (notes["summary"], notes["description"]):
            assert documented(text) <= exported, rule["alert"]


def test_what_an_alert_refers_to_exists() -> None:
    root = Path(__file__).parents[3]
    groups = yaml.safe_load((root / "deploy/alerts.yaml").read_text())["groups"]
    for rule in (rule for group in groups for rule in group["rules"]):
        for link in (rule["annotations"]["runbook"], rule["annotations"]["see"]):
            page, _, anchor = link.partition("#")
            headings = re.findall(r"^#+ (.*)", (root / page).read_text(), re.MULTILINE)
            anchors = {re.sub(r"[^a-z0-9 _-]", "", heading.lower()).replace(" ", "-") for heading in headings}
            assert not anchor or anchor in anchors, (rule["alert"], link)


def test_take_overs_are_counted_from_nothing_on() -> None:
    found = samples(Eye(small()).look())
    for reason in ("fail-over", "switchover", "gave up"):
        assert found[("bus_failovers_total", (("reason", reason), ("task", "copy_hot_item")))] == 0


def test_the_last_verification() -> None:
    bus = small()
    equal, differs = VerifiedTable("shop.a", "equal", 1), VerifiedTable("shop.b", "differs", 1, missing=2, extra=1)
    assert value(Eye(bus).look(), "bus_verify_tables", task="copy_hot_item", result="equal") is None
    bus.verified("copy_hot_item", 3600, equal, differs)
    view = Eye(bus).look()
    task = "copy_hot_item"
    assert value(view, "bus_verify_differences", task=task, table="shop.b") == 3
    assert value(view, "bus_verify_differences", task=task, table="shop.a") == 0
    assert value(view, "bus_verify_tables", task=task, result="differs") == 1
    assert abs(value(view, "bus_verify_last_timestamp_seconds", task=task) - (time.time() - 3600)) < 5
    assert value(view, "bus_verify_last_success_timestamp_seconds", task=task) is None
    (row,) = view.tasks
    assert "target differs from source" in row.notes and row.tone == "warn"
    html = Renderer().details(row, view.read_ms)
    assert "shop.b</span>: 2 missing, 1 extra, 0 different" in html and '<b class="bad">differs</b>' in html


def test_labels_are_an_info_metric_only_for_the_chosen_keys() -> None:
    bus = Bus()
    bus.task("a", labels={"env": "prod", "example.com/team": "x"})
    view = Eye(bus).look()
    assert "bus_task_labels_info" not in exposition(view, streams=0).decode()
    text = exposition(view, streams=0, labels=("example.com/team", "zone")).decode()
    assert 'bus_task_labels_info{label_example_com_team="x",label_zone="",task="a"} 1.0' in text
    assert 'bus_task_desired{desired="running",task="a"} 1.0' in text


ACTIVITY = Activity(
    busy_ms=(1500, 2500, 3500, 4500), blocked_ms=(250, 750), publishes=Histogram((1, 0, 2), 33), bytes=4711,
    inflight_records=5, inflight_bytes=600,
)  # fmt: skip


def test_stages_publish_durations_and_what_is_in_flight() -> None:
    task = "copy_hot_item"
    assert not [name for name, _ in samples(Eye(small()).look()) if "stage" in name or "inflight" in name]
    view = of_task(activity=ACTIVITY)
    assert value(view, "bus_stage_busy_seconds_total", task=task, stage="read") == 1.5
    assert value(view, "bus_stage_busy_seconds_total", task=task, stage="commit") == 4.5
    assert value(view, "bus_stage_blocked_seconds_total", task=task, stage="write") == 0.75
    assert value(view, "bus_publish_duration_seconds_bucket", task=task, le="0.005") == 1
    assert value(view, "bus_publish_duration_seconds_bucket", task=task, le="+Inf") == 3
    assert value(view, "bus_publish_duration_seconds_count", task=task) == 3
    assert value(view, "bus_publish_duration_seconds_sum", task=task) == 0.033
    assert value(view, "bus_task_event_bytes_total", task=task) == 4711
    assert value(view, "bus_inflight_records", task=task) == 5
    assert value(view, "bus_inflight_bytes", task=task) == 600


def test_each_task_has_a_limited_number_of_series() -> None:
    """A thousand tasks are a thousand times as many, and Prometheus pays for each."""
    one = msgspec.structs.replace(Eye(small()).look().tasks[0], activity=ACTIVITY)
    tasks = tuple(msgspec.structs.replace(one, name=f"task_{number}") for number in range(1000))
    view = msgspec.structs.replace(Eye(small()).look(), tasks=tasks)
    counts: dict[str, int] = {}
    for _, labels in samples(view):
        task = dict(labels).get("task", "")
        if task.startswith("task_"):
            counts[task] = counts.get(task, 0) + 1
    assert len(counts) == 1000
    assert set(counts.values()) == {counts["task_7"]}
    assert counts["task_7"] <= SERIES_PER_TASK


def test_what_is_behind() -> None:
    task = "copy_hot_item"
    view = of_task(behind_bytes=4096, behind_transactions=3)
    assert value(view, "bus_task_behind_bytes", task=task) == 4096
    assert value(view, "bus_task_behind_transactions", task=task) == 3
    assert value(of_task(behind_bytes=None), "bus_task_behind_bytes", task=task) is None


def test_figures_of_a_core_that_does_not_report_are_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    bus = small()
    leader = bus.cores["host-a"]
    figures = leader.figures["copy_hot_item"]
    figures.activity, figures.behind_bytes = ACTIVITY, 77
    leader.report()
    assert value(Eye(bus).look(), "bus_task_behind_bytes", task="copy_hot_item") == 77
    monkeypatch.setattr(ReportAges, "of", lambda self, name: 7.2)
    names = {name for name, labels in samples(Eye(bus).look()) if ("task", "copy_hot_item") in labels}
    assert "bus_task_figures_age_seconds" in names
    assert not [name for name in names if "stage" in name or "publish" in name or "behind" in name]


def test_what_cores_count_begins_at_0() -> None:
    view = Eye(small()).look()
    counts = CoreCounts({"sink": 2}, {"lost": 1}, {"ddl": 3})
    first = msgspec.structs.replace(view.machines[0], counts=counts, requests=Histogram((0, 4), 6))
    view = msgspec.structs.replace(view, machines=(first, *view.machines[1:]))
    host, other = first.host, view.machines[1].host
    assert value(view, "bus_fenced_operations_total", host=host, layer="sink") == 2
    assert value(view, "bus_fenced_operations_total", host=other, layer="sink") == 0
    assert value(view, "bus_checkpoint_failures_total", host=host, reason="lost") == 1
    assert value(view, "bus_checkpoint_failures_total", host=host, reason="refused") == 0
    assert value(view, "bus_unsupported_events_total", host=host, type="ddl") == 3
    assert value(view, "bus_unsupported_events_total", host=other, type="statement") == 0
    name = "bus_zookeeper_request_duration_seconds"
    assert value(view, f"{name}_bucket", process="core", host=host, le="0.0025") == 4
    assert value(view, f"{name}_count", process="core", host=other) is None, "an older Core"
    assert value(view, "bus_build_info", process="core", host=host, version="0.1.0") == 1


def test_requests_of_the_monitor_are_known_without_zookeeper() -> None:
    view = msgspec.structs.replace(View(root="/bus"), stale_since_ms=1)
    text = exposition(view, streams=0, requests=Histogram((1,), 1)).decode()
    assert 'bus_zookeeper_request_duration_seconds_count{host="",process="monitor"} 1.0' in text
    assert 'process="core"' not in text
