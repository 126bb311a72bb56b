"""Response types of the API for groups of Cores."""

from __future__ import annotations

import msgspec

from replicator.coordination.groups.report import GroupReport
from server.group_operations import Move
from server.responses import API_VERSION, View


class Group(GroupReport, kw_only=True, rename={"api_version": "apiVersion"}):
    """A group of Cores. `capacity`: of its Cores that take tasks; `weight`: of all that is placed, standbys included;
    `unplaced`: number of tasks without a place; `short`: of tasks with fewer standbys than they want. `hosts` of a
    task: the Cores that take part in its election, the preferred one first."""

    api_version: str = API_VERSION
    kind: str = "Group"


class GroupList(View, kw_only=True):
    kind: str = "GroupList"
    items: list[Group]


class Moves(View, kw_only=True):
    """Tasks whose places change. `done`: false for a dry run."""

    kind: str = "Moves"
    items: list[Move]
    done: bool


class Drain(View, kw_only=True):
    """`tasks`: that the Core of the host takes part in."""

    kind: str = "Drain"
    host: str
    draining: bool
    tasks: list[str] = msgspec.field(default_factory=list)


def group(found: GroupReport) -> Group:
    return Group(**{name: getattr(found, name) for name in GroupReport.__struct_fields__})
