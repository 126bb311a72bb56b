"""The series that are kept of each task and machine, and how values of a second become one value of a longer step."""

from __future__ import annotations

from math import nan
from typing import Final, Literal, NamedTuple

from monitor.history.stages import UNKNOWN
from monitor.view import MachineView, TaskRow
from replicator.model.activity import BLOCKED_STAGES, BUSY_STAGES

Values = tuple[float, ...]
"""One for each of the series; NaN: not known."""


class Series(NamedTuple):
    """reduce: what a step of several values has; unit: of the values; "" and "%": a share, "n": a number; coarse:
    stored with an error of 3 % at most, in a third of the space."""

    name: str
    label: str
    unit: Literal["s", "1/s", "B/s", "B", "", "%", "n"]
    reduce: Literal["mean", "max", "min"]
    coarse: bool = False


SERIES: Final = (
    Series("lag_s", "Lag", "s", "max"),
    Series("rows_per_s", "Rows", "1/s", "mean"),
    Series("bytes_per_s", "Throughput", "B/s", "mean"),
    Series("checkpoint_age_s", "Age of the checkpoint", "s", "max"),
    Series("running", "Running", "", "min"),
    Series("publish_s", "Time to publish a commit", "s", "mean", coarse=True),
    Series("inflight_bytes", "In flight", "B", "max", coarse=True),
    *(Series(f"busy_{stage}", f"Busy: {stage}", "", "mean", coarse=True) for stage in BUSY_STAGES),
    *(Series(f"blocked_{stage}", f"Blocked: {stage}", "", "mean", coarse=True) for stage in BLOCKED_STAGES),
)
"""New ones come last: chunks that are stored have the first of them. running: 1 while a Core is RUNNING, 0 while none
is although the task should run. The worst value is kept of lag, age and running: a fail-over of two seconds is still
there in the step of ten minutes."""


MACHINE_SERIES: Final = (
    Series("online", "Online", "", "mean"),
    Series("cpu", "CPU", "%", "mean"),
    Series("load1", "Load", "n", "max"),
    Series("memory", "Memory", "%", "max"),
    Series("disk", "Fullest disk", "%", "max"),
    Series("received_per_s", "Received", "B/s", "mean"),
    Series("sent_per_s", "Sent", "B/s", "mean"),
)
"""online: 1 while the machine reports, 0 while it should and does not; of a longer step the mean, from which online
rates follow."""
_MACHINE: Final = "\n"
"""First character of the key of a machine: no task is named so."""


def machine_key(name: str) -> str:
    """Under which the series of a machine are kept; those of a task are kept under its name."""
    return f"{_MACHINE}{name}"


def machine_of(key: str) -> str:
    """The name of a machine, "" of a task."""
    return key[1:] if key.startswith(_MACHINE) else ""


def series_of(key: str) -> tuple[Series, ...]:
    return MACHINE_SERIES if key.startswith(_MACHINE) else SERIES


def values_of(task: TaskRow, time_ms: int, stages: Values = UNKNOWN) -> Values:
    """Of a task as it was read at `time_ms`; what nobody reports is unknown, not 0. `stages`: see `StageRates`."""
    if task.state == "RUNNING" and not task.figures_old:
        age_s = max(time_ms - task.checkpoint_ms, 0) / 1000 if task.checkpoint_ms else nan
        lag_s = nan if task.lag_s is None else task.lag_s
        rate = nan if task.rows_per_s is None else task.rows_per_s
        return lag_s, rate, task.bytes_per_s, age_s, 1.0, *stages
    return nan, nan, nan, nan, _running(task), *UNKNOWN


def _running(task: TaskRow) -> float:
    if task.state == "RUNNING":
        return 1.0
    return 0.0 if task.desired == "running" and task.state not in ("UNCONFIGURED", "UNREADABLE") else nan


def values_of_machine(machine: MachineView) -> Values:
    """While it has ended on purpose, nothing is known of it, nor is it missing."""
    if machine.state in ("stopped", "offline"):
        return (nan if machine.state == "stopped" else 0.0, *(nan,) * (len(MACHINE_SERIES) - 1))
    if machine.state == "silent":
        return (0.0, *(nan,) * (len(MACHINE_SERIES) - 1))
    disk = machine.fullest
    return (
        1.0,
        _known(machine.cpu),
        machine.load1,
        machine.memory_bytes / machine.memory_total_bytes if machine.memory_total_bytes else nan,
        disk.share if disk is not None else nan,
        _known(machine.received_per_s),
        _known(machine.sent_per_s),
    )


def _known(value: float | None) -> float:
    return nan if value is None else value
