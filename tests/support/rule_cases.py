"""For each alert rule series that make it fire, and series that do not."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final

MINUTE: Final = 60
_UNITS: Final = {"s": 1, "m": MINUTE, "h": 3600, "d": 86400}
_QUIET: Final = 10 * MINUTE
"""How long everything is well before and after the fault."""


@dataclass(frozen=True)
class Rise:
    """A counter that rises by `step` a minute while the fault lasts, else by `usual`."""

    step: float
    usual: float = 0.0


@dataclass(frozen=True)
class Case:
    """`series`: name -> its value while all is well and during the fault; None: absent. `labels`: of the alert."""

    series: dict[str, tuple[float | None, float | None] | Rise]
    labels: dict[str, str] = field(default_factory=lambda: {"task": "shop"})


def _task(name: str, well: float | None, fault: float | None, **labels: str) -> Case:
    shown = "".join(f',{key}="{value}"' for key, value in labels.items())
    return Case({f'{name}{{task="shop"{shown}}}': (well, fault)}, {"task": "shop", **labels})


def _turned(well: str, fault: str) -> Case:
    series = {f'bus_task_state{{task="shop",state="{well}"}}': (1.0, None)}
    return Case(
        {**series, f'bus_task_state{{task="shop",state="{fault}"}}': (None, 1.0)}, {"task": "shop", "state": fault}
    )


def _core(name: str, step: float, **labels: str) -> Case:
    shown = "".join(f',{key}="{value}"' for key, value in labels.items())
    return Case({f'{name}{{host="a"{shown}}}': Rise(step)}, {"host": "a", **labels})


def _slow(name: str, labels: dict[str, str], fast: str, slow: str) -> Case:
    """Durations up to `fast` while all is well, and up to `slow` only during the fault."""
    given = ",".join(f'{key}="{value}"' for key, value in labels.items())
    return Case(
        {
            f'{name}_bucket{{{given},le="{fast}"}}': Rise(0, 60),
            f'{name}_bucket{{{given},le="{slow}"}}': Rise(60, 60),
            f'{name}_bucket{{{given},le="+Inf"}}': Rise(60, 60),
        },
        labels,
    )


DAY: Final = 86400.0
YEARS: Final = 3650 * DAY

CASES: Final = {
    "BusNobodyRunning": _turned("RUNNING", "NO RUNNING"),
    "BusSeveralRunning": _task("bus_task_running_members", 1, 2),
    "BusTaskFailed": _turned("RUNNING", "FAILED"),
    "BusLag": _task("bus_task_lag_seconds", 29, 31),
    "BusLagLong": _task("bus_task_lag_seconds", 299, 301),
    "BusLagUnknown": _task("bus_task_lag_unknown", 0, 1),
    "BusTaskRetrying": _task("bus_task_retrying_seconds", 59, 61, side="sink"),
    "BusFiguresOld": _task("bus_task_figures_age_seconds", 1, 11),
    "BusClockSkew": _task("bus_task_clock_skew_seconds", 0.5, -1.5),
    "BusCheckpointOld": Case(
        {
            'bus_task_last_event_timestamp_seconds{task="shop"}': (1000, 1100),
            'bus_checkpoint_timestamp_seconds{task="shop"}': (1000, 1000),
        }
    ),
    "BusRetentionHeadroomShort": _task("bus_source_retention_headroom_seconds", 2 * DAY, DAY - 1),
    "BusTargetDiffers": _task("bus_verify_tables", 0, 2, result="differs"),
    "BusVerifyOld": _task("bus_verify_last_success_timestamp_seconds", YEARS, -4 * DAY),
    "BusCertificateEnds": _task("bus_certificate_expiry_timestamp_seconds", YEARS, 13 * DAY),
    "BusAddressRefused": _task("bus_task_address_refused", 0, 1, section="source"),
    "BusAddressNoAnswer": Case(
        {'bus_address_answers{name="primary",address="db:3306"}': (1, 0)}, {"name": "primary", "address": "db:3306"}
    ),
    "BusListenerCertificateEnds": Case(
        {'bus_listener_certificate_expiry_timestamp_seconds{process="server",host="a"}': (YEARS, 13 * DAY)},
        {"process": "server", "host": "a"},
    ),
    "BusListenerCertificateNotLoaded": Case(
        {'bus_listener_certificate_not_loaded{process="server",host="a"}': (0, 1)}, {"process": "server", "host": "a"}
    ),
    "BusConsumersLoseRecords": _task("bus_late_consumer_groups", 0, 1),
    "BusNoStandby": Case(
        {
            'bus_task_standby_members{task="shop"}': (1, 0),
            'bus_task_wanted_standbys{task="shop"}': (1, 1),
            'bus_task_state{task="shop",state="RUNNING"}': (1, 1),
        }
    ),
    "BusTaskUnplaced": _task("bus_task_unplaced", 0, 1, group="eu"),
    "BusFailovers": Case(
        {'bus_failovers_total{task="shop",reason="fail-over"}': Rise(1)}, {"task": "shop", "reason": "fail-over"}
    ),
    "BusGaveUp": Case(
        {'bus_failovers_total{task="shop",reason="gave up"}': Rise(1)}, {"task": "shop", "reason": "gave up"}
    ),
    "BusMaintenanceForgotten": _task("bus_task_maintenance", 0, 1),
    "BusDeadLetters": Case(
        {'bus_dead_letters_total{task="shop",reason="too_large"}': Rise(1)}, {"task": "shop", "reason": "too_large"}
    ),
    "BusTableLeftOut": _task("bus_tables_quarantined", 0, 1),
    "BusConfigurationRefused": _task("bus_config_invalid", 0, 1),
    "BusMachineGone": Case({'bus_machine_online{host="a"}': (1, 0)}, {"host": "a"}),
    "BusDiskFull": Case(
        {'bus_machine_disk_used_ratio{host="a",mount="/data"}': (0.5, 0.97)}, {"host": "a", "mount": "/data"}
    ),
    "BusZooKeeperAway": Case({"bus_zookeeper_connected": (1, 0)}, {}),
    "BusMonitorAway": Case({"bus_zookeeper_connected": (1, None)}, {}),
    "BusNoProgress": Case(
        {
            'bus_task_behind_bytes{task="shop"}': (0, 5e6),
            'bus_task_event_bytes_total{task="shop"}': Rise(0, 1000),
        }
    ),
    "BusUnsupportedEvents": _core("bus_unsupported_events_total", 1, type="ddl"),
    "BusFencedWrites": _core("bus_fenced_operations_total", 1, layer="sink"),
    "BusCheckpointFailures": _core("bus_checkpoint_failures_total", 2, reason="not_connected"),
    "BusZooKeeperSlow": _slow(
        "bus_zookeeper_request_duration_seconds", {"process": "core", "host": "a"}, "0.01", "2.5"
    ),
    "BusPublishSlow": _slow("bus_publish_duration_seconds", {"task": "shop"}, "0.01", "30.0"),
    "BusInflightFull": Case(
        {'bus_inflight_bytes{task="shop"}': (700, 900), 'bus_inflight_limit_bytes{task="shop"}': (1000, 1000)}
    ),
    "BusVersionsDiffer": Case(
        {
            'bus_build_info{version="1.0",process="core",host="a"}': (1, 1),
            'bus_build_info{version="1.1",process="core",host="b"}': (None, 1),
        },
        {},
    ),
}


def seconds(text: str) -> int:
    """Of a duration like `5m`."""
    return int(text[:-1]) * _UNITS[text[-1]]


def promtool_test(rule: dict[str, Any], case: Case) -> dict[str, Any]:
    """A test for `promtool test rules`: the rule does not fire while all is well, nor before `for` is over; then it
    fires, and ends after the fault."""
    lasting = seconds(rule.get("for", "0s"))
    window = max((seconds(one) for one in re.findall(r"\[(\d+[smhd])\]", rule["expr"])), default=0)
    begins = _QUIET + window
    ends = begins + 2 * window + lasting + _QUIET
    over = ends + 2 * window + _QUIET
    firing = {**case.labels, "alertname": rule["alert"], "alertstate": "firing", **rule["labels"]}
    shown = "{" + ", ".join(f'{key}="{value}"' for key, value in firing.items()) + "}"
    expected = {
        begins - MINUTE: [],
        **({begins + lasting - MINUTE: []} if lasting > MINUTE else {}),
        ends - MINUTE: [{"labels": f"ALERTS{shown}", "value": 1}],
        over: [],
    }
    alerts = f'ALERTS{{alertname="{rule["alert"]}", alertstate="firing"}}'
    phases = tuple(time // MINUTE for time in (begins, ends, over + MINUTE))
    return {
        "interval": "1m",
        "input_series": [{"series": name, "values": _values(value, phases)} for name, value in case.series.items()],
        "promql_expr_test": [
            {"expr": alerts, "eval_time": f"{at}s", "exp_samples": found}
            for at, found in expected.items()
        ],
    }  # fmt: skip


def _values(value: tuple[float | None, float | None] | Rise, phases: tuple[int, ...]) -> str:
    begins, ends, over = phases
    parts = []
    at = 0.0
    for number, (first, last) in enumerate(((0, begins), (begins, ends), (ends, over))):
        count, fault = last - first, number == 1
        if isinstance(value, Rise):
            step = value.step if fault else value.usual
            parts.append(f"{at + step}+{step}x{count - 1}")
            at += step * count
        else:
            now = value[1] if fault else value[0]
            parts.append(f"stale _x{count - 1}" if now is None else f"{now}+0x{count - 1}")
    return " ".join(parts)
