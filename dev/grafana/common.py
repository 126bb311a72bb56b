"""What the dashboards have in common: variables, marks, small panels."""

from __future__ import annotations

from typing import Final

from dev.grafana.model import Json, Panel, Query, Variable, annotation

GOOD, WARN, BAD, NEUTRAL = "green", "orange", "red", "blue"
JOB: Final = 'job=~"$job"'
OF_TASK: Final = 'job=~"$job", task=~"$task"'
OF_HOST: Final = 'job=~"$job", host=~"$host"'

JOBS: Final = Variable("job", "Job", "label_values(bus_zookeeper_connected, job)")
TASKS: Final = Variable("task", "Task", 'label_values(bus_task_state{job=~"$job"}, task)')
ONE_TASK: Final = Variable("task", "Task", 'label_values(bus_task_state{job=~"$job"}, task)', several=False)
HOSTS: Final = Variable("host", "Host", 'label_values(bus_machine_online{job=~"$job"}, host)')


def changes(task: str) -> list[Json]:
    """Marks of take-overs and planned switchovers."""
    return [
        annotation(
            "Take-overs",
            f'increase(bus_failovers_total{{{task}, reason!="switchover"}}[1m]) > 0',
            "take-over of {{task}}",
            "{{reason}}",
            BAD,
        ),
        annotation(
            "Switchovers",
            f'increase(bus_failovers_total{{{task}, reason="switchover"}}[1m]) > 0',
            "switchover of {{task}}",
            "{{reason}}",
            NEUTRAL,
        ),
    ]


def number(
    title: str, expr: str, text: str, *, steps: tuple[tuple[float, str], ...] = (), unit: str = "short"
) -> Panel:
    return Panel(title, "stat", [Query(expr)], text, unit, steps or ((0, NEUTRAL),), width=4, height=4)


TROUBLE: Final = ((0.0, GOOD), (1.0, BAD))
