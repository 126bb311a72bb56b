"""Places the tasks of a group on its members: by weight, with the least movement. Pure and deterministic.

A placement lists, for each task, the members that take part in its election: 1 + its standbys. Each of them reserves
the weight of the task, as each may lead it the next moment. `place` keeps what fits where it is, and guarantees:

- No member holds more than its capacity, and none holds a task twice.
- A task without any place has a weight that no undrained member has room for, even without the standbys it has from
  other tasks. Tasks are not moved to make room: that is bin packing, and each move is an interruption.
- A pinned task has its pin as first place where that member is there, undrained, and has the capacity for the pinned
  tasks before it (the heavier first). Others give way.
- A task leaves a member that drains as soon as another one has room, and stays there until then.
- Placing again what was placed changes nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TypeAlias

import msgspec

MAX_MOVES = 10_000


class Member(msgspec.Struct, frozen=True):
    """A Core of the group. `draining`: it takes no tasks, and gives up those that it has."""

    capacity: int
    draining: bool = False


class Demand(msgspec.Struct, frozen=True):
    """What a task needs. `pin`: the member that it is to run on, "" for any."""

    weight: int = 1
    standbys: int = 0
    pin: str = ""


Members: TypeAlias = Mapping[str, Member]
Demands: TypeAlias = Mapping[str, Demand]
Placement: TypeAlias = dict[str, tuple[str, ...]]
"""Members of each task, the first one preferred; no entry for a task without a place."""


def place(members: Members, tasks: Demands, current: Mapping[str, tuple[str, ...]]) -> Placement:
    """The placement that follows `current`, which may name members and tasks that are not there any more."""
    board = _Board(members, tasks)
    order = sorted(tasks, key=lambda task: (-tasks[task].weight, task))
    for task in order:
        board.pin(task)
    _keep(board, order, current)
    for task in order:
        if not board.places[task]:
            board.add_first(task, tuple(host for host in current.get(task, ()) if host in members))
    for task in order:
        board.add_standbys(task)
    return board.result()


def _keep(board: _Board, order: list[str], current: Mapping[str, tuple[str, ...]]) -> None:
    """First places before standbys: where a member is over its capacity, standbys go first."""
    staying = {task: [host for host in current.get(task, ()) if board.takes(host)] for task in order}
    for task in order:
        if not board.places[task] and staying[task]:
            board.add_if_room(task, staying[task][0])
    for task in order:
        for host in staying[task]:
            if len(board.places[task]) <= board.tasks[task].standbys:
                board.add_if_room(task, host)


def rebalanced(members: Members, tasks: Demands, current: Mapping[str, tuple[str, ...]]) -> Placement:
    """The placement after moves that each lower the load of a member, relative to its capacity, below what it was,
    without raising another one to it; begins with the most loaded."""
    found = place(members, tasks, current)
    for _ in range(MAX_MOVES):
        move = _best_move(members, tasks, found)
        if move is None:
            filled = place(members, tasks, found)
            if filled == found:
                break
            found = filled  # moves have made room
            continue
        task, source, target = move
        found[task] = tuple(target if host == source else host for host in found[task])
    return found


def _best_move(members: Members, tasks: Demands, placed: Placement) -> tuple[str, str, str] | None:
    load = loads(tasks, placed)
    open_ = sorted(host for host, member in members.items() if not member.draining and member.capacity > 0)
    ratio = {host: Fraction(load.get(host, 0), members[host].capacity) for host in open_}
    for source in sorted(open_, key=lambda host: (-ratio[host], host)):
        best: tuple[Fraction, str, str] | None = None
        for task in sorted(task for task, hosts in placed.items() if source in hosts):
            weight = tasks[task].weight
            if tasks[task].pin == source and placed[task][0] == source:
                continue
            left = Fraction(load[source] - weight, members[source].capacity)
            for target in open_:
                new = load.get(target, 0) + weight
                if target in placed[task] or new > members[target].capacity:
                    continue
                worst = max(left, Fraction(new, members[target].capacity))
                if worst < ratio[source] and (best is None or (worst, task, target) < best):
                    best = (worst, task, target)
        if best is not None:
            return best[1], source, best[2]
    return None


def loads(tasks: Demands, placed: Mapping[str, tuple[str, ...]]) -> dict[str, int]:
    """The weight that each member has reserved."""
    found: dict[str, int] = {}
    for task, hosts in placed.items():
        for host in hosts:
            found[host] = found.get(host, 0) + (tasks[task].weight if task in tasks else 0)
    return found


def unplaced(tasks: Iterable[str], placed: Mapping[str, tuple[str, ...]]) -> list[str]:
    return sorted(task for task in tasks if not placed.get(task))


class _Board:
    """A placement in the making."""

    def __init__(self, members: Members, tasks: Demands) -> None:
        self.members = members
        self.tasks = tasks
        self.places: dict[str, list[str]] = {task: [] for task in tasks}
        self.free = {host: member.capacity for host, member in members.items()}
        self.standbys: dict[str, set[str]] = {host: set() for host in members}

    def takes(self, host: str) -> bool:
        return host in self.members and not self.members[host].draining

    def pin(self, task: str) -> None:
        if self.takes(self.tasks[task].pin):
            self.add_if_room(task, self.tasks[task].pin)

    def add_if_room(self, task: str, host: str) -> bool:
        weight = self.tasks[task].weight
        if host in self.places[task] or self.free[host] < weight:
            return False
        if self.places[task]:
            self.standbys[host].add(task)
        self.places[task].append(host)
        self.free[host] -= weight
        return True

    def add_first(self, task: str, before: tuple[str, ...]) -> None:
        """Where there is room, else where standbys of others give way, else on a draining member that has it."""
        weight = self.tasks[task].weight
        for host in self._by_load(task):
            if self.add_if_room(task, host):
                return
        for host in self._by_load(task):
            if self.free[host] + sum(self.tasks[each].weight for each in self.standbys[host]) >= weight:
                self._make_room(host, weight)
                self.add_if_room(task, host)
                return
        for host in before:
            if self.members[host].draining and self.add_if_room(task, host):
                return

    def _make_room(self, host: str, weight: int) -> None:
        for each in sorted(self.standbys[host], key=lambda task: (-self.tasks[task].weight, task)):
            if self.free[host] >= weight:
                return
            self.standbys[host].discard(each)
            self.places[each].remove(host)
            self.free[host] += self.tasks[each].weight

    def add_standbys(self, task: str) -> None:
        for host in self._by_load(task) if self.places[task] else ():
            if len(self.places[task]) > self.tasks[task].standbys:
                return
            self.add_if_room(task, host)

    def _by_load(self, task: str) -> list[str]:
        """Undrained members with capacity, the one with the least load after the task first."""
        weight = self.tasks[task].weight
        usable = [host for host, member in self.members.items() if not member.draining and member.capacity > 0]

        def rank(host: str) -> tuple[Fraction, bytes]:
            capacity = self.members[host].capacity
            return Fraction(capacity - self.free[host] + weight, capacity), _spread(task, host)

        return sorted(usable, key=rank)

    def result(self) -> Placement:
        return {task: tuple(hosts) for task, hosts in sorted(self.places.items()) if hosts}


def _spread(task: str, host: str) -> bytes:
    """Equally loaded members come in another order for each task."""
    return hashlib.blake2b(f"{task}\0{host}".encode(), digest_size=8).digest()
