"""The dashboard of machines, ZooKeeper and Monitors."""

from __future__ import annotations

from typing import Final

from dev.grafana.common import BAD, GOOD, HOSTS, JOB, JOBS, OF_HOST, WARN, changes, number
from dev.grafana.model import Dashboard, Panel, Query, Row

MACHINES: Final = Dashboard(
    uid="mysql-replicator-machines",
    title="mysql-replicator: machines, ZooKeeper, Monitors",
    description="The processes of the bus and what they depend on.",
    variables=[JOBS, HOSTS],
    annotations=changes(JOB),
    rows=[
        Row(
            "Machines",
            [
                Panel(
                    "Online",
                    "state-timeline",
                    [Query(f"bus_machine_online{{{OF_HOST}}}", "{{host}}")],
                    "1 while the Core reports.",
                    steps=((0, BAD), (1, GOOD)),
                    width=24,
                    height=6,
                ),
                Panel(
                    "Load",
                    "timeseries",
                    [Query(f"bus_machine_load1{{{OF_HOST}}}", "{{host}}")],
                    "Load average of one minute.",
                ),
                Panel(
                    "Memory in use",
                    "timeseries",
                    [
                        Query(
                            f"bus_machine_memory_used_bytes{{{OF_HOST}}} / bus_machine_memory_bytes{{{OF_HOST}}}",
                            "{{host}}",
                        )
                    ],
                    "Of the whole machine.",
                    "percentunit",
                    ((0, GOOD), (0.9, WARN)),
                ),
                Panel(
                    "Memory of Cores",
                    "timeseries",
                    [Query(f"bus_core_resident_memory_bytes{{{OF_HOST}}}", "{{host}}")],
                    "With their workers.",
                    "bytes",
                ),
                Panel(
                    "Tasks that are RUNNING",
                    "timeseries",
                    [Query(f'count by (host) (bus_task_role{{{OF_HOST}, role="RUNNING"}})', "{{host}}")],
                    "By host.",
                    stacked=True,
                ),
                Panel(
                    "Fenced operations",
                    "timeseries",
                    [
                        Query(
                            f"sum by (host, layer) (increase(bus_fenced_operations_total{{{OF_HOST}}}[5m]))",
                            "{{host}} {{layer}}",
                        )
                    ],
                    "Of ended terms.",
                ),
                Panel(
                    "Unsupported events",
                    "timeseries",
                    [
                        Query(
                            f"sum by (host, type) (increase(bus_unsupported_events_total{{{OF_HOST}}}[5m]))",
                            "{{host}} {{type}}",
                        )
                    ],
                    "They stopped a task or a table.",
                    steps=((0, GOOD), (1, BAD)),
                ),
            ],
        ),
        Row(
            "ZooKeeper",
            [
                Panel(
                    "Duration of requests (99 %)",
                    "timeseries",
                    [
                        Query(
                            "histogram_quantile(0.99, sum by (process, host, le) "
                            f"(rate(bus_zookeeper_request_duration_seconds_bucket{{{JOB}}}[1m])))",
                            "{{process}} {{host}}",
                        )
                    ],
                    "A sixth of the session timeout or more endangers leases.",
                    "s",
                    ((0, GOOD), (1, BAD)),
                ),
                Panel(
                    "Requests per second",
                    "timeseries",
                    [Query(f"rate(bus_zookeeper_request_duration_seconds_count{{{JOB}}}[1m])", "{{process}} {{host}}")],
                    "Requests that are sent together count as one.",
                ),
                Panel(
                    "Failed checkpoints",
                    "timeseries",
                    [
                        Query(
                            f"sum by (host, reason) (increase(bus_checkpoint_failures_total{{{OF_HOST}}}[5m]))",
                            "{{host}} {{reason}}",
                        )
                    ],
                    "Writes of positions that failed.",
                ),
            ],
        ),
        Row(
            "Monitors and versions",
            [
                number(
                    "Age of the data",
                    f"time() - max(bus_monitor_snapshot_timestamp_seconds{{{JOB}}})",
                    "Since the Monitor last read ZooKeeper.",
                    steps=((0, GOOD), (3, WARN), (30, BAD)),
                    unit="s",
                ),
                number("Browsers", f"sum(bus_monitor_streams{{{JOB}}})", "With an event stream."),
                Panel(
                    "Versions",
                    "table",
                    [Query(f"sum by (process, host, version) (bus_build_info{{{JOB}}})", table=True)],
                    "Of Cores and Monitors.",
                    width=8,
                    extra={
                        "transformations": [
                            {"id": "organize", "options": {"excludeByName": {"Time": True, "Value": True}}}
                        ]
                    },
                ),
                Panel(
                    "Certificates",
                    "timeseries",
                    [
                        Query(
                            f"bus_listener_certificate_expiry_timestamp_seconds{{{JOB}}} - time()",
                            "{{process}} {{host}}",
                        )
                    ],
                    "Time until they expire.",
                    "s",
                    ((0, BAD), (1209600, GOOD)),
                ),
            ],
        ),
    ],
)
