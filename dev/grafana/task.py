"""The dashboard of one task."""

from __future__ import annotations

from typing import Final

from dev.grafana.common import BAD, GOOD, JOBS, NEUTRAL, OF_TASK, ONE_TASK, WARN, changes, number
from dev.grafana.model import Dashboard, Panel, Query, Row

_P = "histogram_quantile({q}, sum by (le) (rate(bus_publish_duration_seconds_bucket{{" + OF_TASK + "}}[1m])))"

TASK: Final = Dashboard(
    uid="mysql-replicator-task",
    title="mysql-replicator: one task",
    description="Lag, throughput, the stage that limits it, leadership and the checks of one task.",
    variables=[JOBS, ONE_TASK],
    annotations=changes(OF_TASK),
    rows=[
        Row(
            "Now",
            [
                Panel(
                    "State",
                    "stat",
                    [Query(f"bus_task_state{{{OF_TASK}}}", "{{state}}")],
                    "State of the task.",
                    steps=((0, NEUTRAL),),
                    width=4,
                    height=4,
                    extra={"options": {"textMode": "name", "graphMode": "none"}},
                ),
                number(
                    "Lag",
                    f"bus_task_lag_seconds{{{OF_TASK}}}",
                    "Age of the oldest change that is not delivered.",
                    steps=((0, GOOD), (30, WARN), (300, BAD)),
                    unit="s",
                ),
                number("Behind", f"bus_task_behind_bytes{{{OF_TASK}}}", "Binlog that is not delivered.", unit="bytes"),
                number(
                    "Standbys",
                    f"bus_task_standby_members{{{OF_TASK}}}",
                    "Cores that can take over.",
                    steps=((0, WARN), (1, GOOD)),
                ),
                number(
                    "Retention headroom",
                    f"bus_source_retention_headroom_seconds{{{OF_TASK}}}",
                    "Time until the source purges binlog that the task needs.",
                    steps=((0, BAD), (86400, WARN), (172800, GOOD)),
                    unit="s",
                ),
                number(
                    "Age of the checkpoint",
                    f"time() - bus_checkpoint_timestamp_seconds{{{OF_TASK}}}",
                    "It grows while nothing is delivered, too.",
                    unit="s",
                ),
            ],
        ),
        Row(
            "Lag and throughput",
            [
                Panel(
                    "Lag",
                    "timeseries",
                    [Query(f"bus_task_lag_seconds{{{OF_TASK}}}", "lag")],
                    "A gap: not known.",
                    "s",
                    ((0, GOOD), (30, WARN), (300, BAD)),
                ),
                Panel(
                    "Rows and transactions per second",
                    "timeseries",
                    [
                        Query(f"rate(bus_task_events_total{{{OF_TASK}}}[1m])", "rows"),
                        Query(f"rate(bus_task_transactions_total{{{OF_TASK}}}[1m])", "transactions"),
                    ],
                    "Delivered.",
                ),
                Panel(
                    "Bytes per second",
                    "timeseries",
                    [Query(f"rate(bus_task_event_bytes_total{{{OF_TASK}}}[1m])", "delivered")],
                    "Keys and values.",
                    "Bps",
                ),
                Panel(
                    "Behind the source",
                    "timeseries",
                    [Query(f"bus_task_behind_bytes{{{OF_TASK}}}", "bytes")],
                    "Binlog that is not delivered.",
                    "bytes",
                ),
                Panel(
                    "Transactions behind",
                    "timeseries",
                    [Query(f"bus_task_behind_transactions{{{OF_TASK}}}", "transactions")],
                    "By GTID.",
                ),
                Panel(
                    "In flight",
                    "timeseries",
                    [
                        Query(f"bus_inflight_bytes{{{OF_TASK}}}", "in flight"),
                        Query(f"bus_inflight_limit_bytes{{{OF_TASK}}}", "limit"),
                    ],
                    "Handed to the sink and not acknowledged.",
                    "bytes",
                ),
            ],
        ),
        Row(
            "Where the time goes",
            [
                Panel(
                    "Busy",
                    "timeseries",
                    [Query(f"rate(bus_stage_busy_seconds_total{{{OF_TASK}}}[1m])", "{{stage}}")],
                    "Share of the time in which each stage works. The one near 100 % limits the task.",
                    "percentunit",
                    ((0, GOOD), (0.9, WARN)),
                ),
                Panel(
                    "Blocked",
                    "timeseries",
                    [Query(f"rate(bus_stage_blocked_seconds_total{{{OF_TASK}}}[1m])", "{{stage}}")],
                    "Share of the time in which a stage waits for the one behind it.",
                    "percentunit",
                    ((0, GOOD), (0.5, WARN)),
                ),
                Panel(
                    "Duration of commits",
                    "timeseries",
                    [
                        Query(_P.format(q=q), name)
                        for q, name in (("0.5", "median"), ("0.95", "95 %"), ("0.99", "99 %"))
                    ],
                    "From the first change that is handed to the sink to its acknowledgement.",
                    "s",
                ),
            ],
        ),
        Row(
            "Leadership and checks",
            [
                Panel(
                    "Roles",
                    "state-timeline",
                    [Query(f'max by (host) (bus_task_role{{{OF_TASK}, role="RUNNING"}})', "{{host}}")],
                    "Which Core is RUNNING.",
                    steps=((0, GOOD),),
                    width=12,
                ),
                Panel(
                    "Lease",
                    "timeseries",
                    [Query(f"bus_lease_remaining_seconds{{{OF_TASK}}}", "left")],
                    "The RUNNING Core stops sending at 0.",
                    "s",
                    width=12,
                ),
                Panel(
                    "Retries",
                    "timeseries",
                    [Query(f"bus_task_retrying_seconds{{{OF_TASK}}}", "{{side}}")],
                    "For how long a side has not answered.",
                    "s",
                    ((0, GOOD), (60, BAD)),
                ),
                Panel(
                    "Dead letters, conflicts, quarantine",
                    "timeseries",
                    [
                        Query(f"increase(bus_dead_letters_total{{{OF_TASK}}}[5m])", "dead letters {{reason}}"),
                        Query(
                            f"increase(bus_target_conflicts_by_kind_total{{{OF_TASK}}}[5m])",
                            "conflicts {{policy}} {{kind}}",
                        ),
                        Query(f"bus_tables_quarantined{{{OF_TASK}}}", "tables in quarantine"),
                    ],
                    "What was not delivered as it was.",
                ),
                Panel(
                    "Clock skew",
                    "timeseries",
                    [Query(f"bus_task_clock_skew_seconds{{{OF_TASK}}}", "source - Core")],
                    "Lag is corrected by it.",
                    "s",
                    minimum=None,
                ),
            ],
        ),
    ],
)
