"""The queue of a task: who is first in line, since when, and what each Core reaches."""

from __future__ import annotations

import msgspec

from monitor.reach import Reach
from monitor.task_pages.tab import Asked
from monitor.view import MachineView, MemberView, TaskRow


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """A Core in the queue.

    Attributes:
        since_ms: when it joined the queue, which begins again with each session.
        lease_left_s: of the Core that runs the task; None of the others, as only RUNNING has a lease.
        timeout_s: of its session, 0 where the Core does not report.
        machine: "online", "silent", "offline" or "stopped", "" where the Core has never reported.
        silence_s: since its last report.
        skipped: why it would not take over, or would last, "" where it would.
    """

    place: int
    host: str
    state: str
    sequence: int
    pid: int
    version: str
    since_ms: int
    lease_left_s: float | None
    timeout_s: float
    machine: str
    silence_s: float
    reach: dict[str, Reach]
    skipped: str


class Members(msgspec.Struct, frozen=True):
    """In the order of the queue. versions: of the program, that differ; wanted_standbys: number of Cores that are to
    stand by."""

    members: tuple[Member, ...]
    versions: tuple[str, ...]
    wanted_standbys: int
    maintenance: str
    group: str


class MembersTab:
    key, title, every_s = "members", "Members", 2.0

    async def content(self, asked: Asked) -> Members:
        return members(asked.task, {machine.host: machine for machine in asked.view.machines})


def members(task: TaskRow, machines: dict[str, MachineView]) -> Members:
    found = tuple(
        _member(task, place, member, machines.get(member.machine)) for place, member in enumerate(task.members, 1)
    )
    versions = tuple(sorted({member.version for member in found if member.version}))
    return Members(found, versions, task.wanted_standbys, task.maintenance, task.group)


def _member(task: TaskRow, place: int, member: MemberView, machine: MachineView | None) -> Member:
    leads = place == 1 and task.leads
    return Member(
        place=place,
        host=member.host,
        state=member.state,
        sequence=member.sequence,
        pid=member.pid,
        version=machine.version if machine else "",
        since_ms=member.since_ms,
        lease_left_s=task.lease_left_s if leads and not task.figures_old else None,
        timeout_s=machine.session_timeout_s if machine else 0.0,
        machine=machine.state if machine else "",
        silence_s=machine.silence_s if machine else 0.0,
        reach=member.reach,
        skipped="" if place == 1 else _skipped(task, member, machine),
    )


def _skipped(task: TaskRow, member: MemberView, machine: MachineView | None) -> str:
    if task.maintenance:
        return "maintenance: no standby is promoted"
    if machine is None or machine.state != "online":
        return "it does not report: while its session lasts it may take over all the same"
    if member.unreached:
        return f"it cannot reach the {' and the '.join(member.unreached)}"
    return ""
