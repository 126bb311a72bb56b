"""What operators are shown of groups: members with their load, tasks with their places, and what has no place."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec

from replicator.coordination.groups.groups import GroupNode
from replicator.coordination.groups.placement import loads
from replicator.coordination.groups.wishes import Wish
from replicator.errors import CoordinationError


class MemberReport(msgspec.Struct, kw_only=True):
    """`weight`: of the tasks that are placed on it, `draining`: it gives up its tasks; `leaving`: its process ends;
    `tasks`: that it takes part in, those that prefer it first."""

    host: str
    capacity: int = 0
    weight: int = 0
    draining: bool = False
    leaving: bool = False
    tasks: list[str] = msgspec.field(default_factory=list)


class PlacedTask(msgspec.Struct, kw_only=True):
    """`hosts`: where it is placed, the preferred one first, none without room; `pin`: where operators want it, "" for
    anywhere; `problem`: why it has no place, null if it has."""

    name: str
    weight: int
    standbys: int
    pin: str = ""
    hosts: list[str] = msgspec.field(default_factory=list)
    problem: dict[str, str] | None = None


class GroupReport(msgspec.Struct, kw_only=True):
    """`capacity`, `weight`: of all members that are not drained and do not leave, and of all that is placed, standbys
    included; `unplaced`: number of tasks without a place; `short`: of tasks with fewer standbys than they want."""

    name: str
    capacity: int = 0
    weight: int = 0
    unplaced: int = 0
    short: int = 0
    members: list[MemberReport] = msgspec.field(default_factory=list)
    tasks: list[PlacedTask] = msgspec.field(default_factory=list)


def report(node: GroupNode, drained: Collection[str], wishes: Mapping[str, Wish]) -> GroupReport:
    present, demands = node.present(drained), node.demands(wishes)
    placed = {task: hosts for task in demands if (hosts := node.places(task))}
    load = loads(demands, placed)
    members = [
        MemberReport(
            host=host,
            capacity=member.record.capacity if member.record is not None else 0,
            weight=load.get(host, 0),
            draining=host in present and present[host].draining,
            leaving=member.record is not None and member.record.leaving,
            tasks=sorted(
                (task for task in demands if host in placed.get(task, ())), key=lambda task: placed[task][0] != host
            ),
        )
        for host, member in sorted(node.members.items())
    ]
    tasks = [
        PlacedTask(
            name=task,
            weight=demand.weight,
            standbys=demand.standbys,
            pin=demand.pin,
            hosts=list(placed.get(task, ())),
            problem=found.to_dict() if (found := problem(task, wishes[task], node, drained)) else None,
        )
        for task, demand in sorted(demands.items())
    ]
    return GroupReport(
        name=node.name,
        capacity=sum(member.capacity for member in present.values() if not member.draining),
        weight=sum(load.values()),
        unplaced=sum(not task.hosts for task in tasks),
        short=sum(0 < len(task.hosts) <= task.standbys for task in tasks),
        members=members,
        tasks=tasks,
    )


def problem(task: str, wish: Wish, node: GroupNode, drained: Collection[str]) -> CoordinationError | None:
    """Why a task has no place; None where it has one, or belongs to no group."""
    if not wish.group or node.places(task):
        return None
    present = node.present(drained)
    taking = {host: member for host, member in present.items() if not member.draining}
    if not taking:
        found = f"drained: {', '.join(sorted(present))}" if present else "no Core"
        return CoordinationError(
            "E4051", f"the group '{wish.group}' of '{task}' has no Core that takes tasks", found=found
        )
    shown = ", ".join(f"{host} {member.capacity}" for host, member in sorted(taking.items()))
    return CoordinationError(
        "E4050",
        f"no Core of the group '{wish.group}' has room for '{task}'",
        found=f"capacities: {shown}",
        wanted=f"room for weight {wish.weight}",
    )
