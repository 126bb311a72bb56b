"""The dashboard of all tasks."""

from __future__ import annotations

from typing import Final

from dev.grafana.common import BAD, GOOD, JOB, JOBS, OF_TASK, TASKS, TROUBLE, WARN, changes, number
from dev.grafana.model import Dashboard, Panel, Query, Row

FLEET: Final = Dashboard(
    uid="mysql-replicator-fleet",
    title="mysql-replicator: all tasks",
    description="What is wrong, which tasks are late, and how much is delivered.",
    variables=[JOBS, TASKS],
    annotations=changes(OF_TASK),
    rows=[
        Row(
            "State",
            [
                number(
                    "RUNNING",
                    f'count(bus_task_state{{{OF_TASK}, state="RUNNING"}}) or vector(0)',
                    "Tasks with a Core that runs them.",
                ),
                number(
                    "No Core RUNNING",
                    f'count(bus_task_state{{{OF_TASK}, state=~"NO RUNNING|WAITING|IDLE|STARTING"}}) or vector(0)',
                    "Tasks that should run and do not.",
                    steps=TROUBLE,
                ),
                number(
                    "FAILED",
                    f'count(bus_task_state{{{OF_TASK}, state=~"FAILED|UNREADABLE"}}) or vector(0)',
                    "Tasks that have stopped with an error.",
                    steps=TROUBLE,
                ),
                number(
                    "Retrying",
                    f"count(count by (task) (bus_task_retrying_seconds{{{OF_TASK}}})) or vector(0)",
                    "Tasks whose source or sink does not answer.",
                    steps=((0, GOOD), (1, WARN)),
                ),
                number(
                    "Worst lag",
                    f"max(bus_task_lag_seconds{{{OF_TASK}}})",
                    "Age of the oldest change that is not delivered, of all tasks.",
                    steps=((0, GOOD), (30, WARN), (300, BAD)),
                    unit="s",
                ),
                number(
                    "ZooKeeper",
                    f"min(bus_zookeeper_connected{{{JOB}}})",
                    "1 while the Monitor has current data. Without it all tasks are unknown.",
                    steps=((0, BAD), (1, GOOD)),
                ),
            ],
        ),
        Row(
            "Tasks",
            [
                Panel(
                    "Tasks by lag",
                    "table",
                    [
                        Query(f"bus_task_lag_seconds{{{OF_TASK}}}", table=True),
                        Query(f"bus_task_behind_bytes{{{OF_TASK}}}", table=True),
                        Query(f"sum by (task) (rate(bus_task_events_total{{{OF_TASK}}}[1m]))", table=True),
                        Query(f"bus_task_standby_members{{{OF_TASK}}}", table=True),
                        Query(f"bus_source_retention_headroom_seconds{{{OF_TASK}}}", table=True),
                    ],
                    "Each task; click its name for its dashboard.",
                    width=24,
                    height=10,
                    extra={
                        "transformations": [
                            {"id": "joinByField", "options": {"byField": "task", "mode": "outer"}},
                            {
                                "id": "filterFieldsByName",
                                "options": {"include": {"pattern": "^(task|Value #.)$"}},
                            },
                            {
                                "id": "organize",
                                "options": {
                                    "renameByName": {
                                        "Value #A": "lag",
                                        "Value #B": "behind",
                                        "Value #C": "rows/s",
                                        "Value #D": "standbys",
                                        "Value #E": "retention headroom",
                                    }
                                },
                            },
                            {"id": "sortBy", "options": {"sort": [{"field": "lag", "desc": True}]}},
                        ],
                        "fieldConfig": {
                            "overrides": [
                                {
                                    "matcher": {"id": "byName", "options": "task"},
                                    "properties": [
                                        {
                                            "id": "links",
                                            "value": [
                                                {
                                                    "title": "Dashboard of ${__value.text}",
                                                    "url": "/d/mysql-replicator-task?var-task=${__value.text}"
                                                    "&${job:queryparam}&${datasource:queryparam}&${__url_time_range}",
                                                }
                                            ],
                                        }
                                    ],
                                },
                                *(
                                    {
                                        "matcher": {"id": "byName", "options": name},
                                        "properties": [{"id": "unit", "value": unit}],
                                    }
                                    for name, unit in (
                                        ("lag", "s"),
                                        ("behind", "bytes"),
                                        ("rows/s", "short"),
                                        ("retention headroom", "s"),
                                    )
                                ),
                            ]
                        },
                    },
                ),
                Panel(
                    "Lag",
                    "timeseries",
                    [Query(f"topk(20, bus_task_lag_seconds{{{OF_TASK}}})", "{{task}}")],
                    "The 20 tasks that are furthest behind. A gap: not known.",
                    "s",
                    ((0, GOOD), (30, WARN), (300, BAD)),
                    width=12,
                ),
                Panel(
                    "Rows per second",
                    "timeseries",
                    [Query(f"topk(20, sum by (task) (rate(bus_task_events_total{{{OF_TASK}}}[1m])))", "{{task}}")],
                    "The 20 busiest tasks.",
                    stacked=True,
                    width=12,
                ),
                Panel(
                    "State",
                    "state-timeline",
                    [Query(f"max by (task) (bus_task_running_members{{{OF_TASK}}})", "{{task}}")],
                    "Number of Cores that report RUNNING: 1 is right.",
                    steps=((0, BAD), (1, GOOD), (2, "purple")),
                    width=24,
                    height=10,
                ),
            ],
        ),
    ],
)
