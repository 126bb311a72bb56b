"""Placement of the tasks of a group: what holds for every history of joins, deaths, drains, pins and full groups."""

from __future__ import annotations

import time
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from replicator.coordination.groups.placement import Demand, Member, loads, place, rebalanced, unplaced

HOSTS = ["a", "b", "c", "d"]
TASKS = [f"t{number}" for number in range(7)]
MEMBERS = st.dictionaries(st.sampled_from(HOSTS), st.builds(Member, st.integers(0, 12), st.booleans()))
DEMANDS = st.dictionaries(
    st.sampled_from(TASKS),
    st.builds(Demand, st.integers(1, 6), st.integers(0, 2), st.sampled_from(["", "", "", *HOSTS])),
)
CURRENT = st.dictionaries(
    st.sampled_from(TASKS), st.lists(st.sampled_from(HOSTS), unique=True, min_size=1, max_size=3).map(tuple)
)


def check_safe(members, tasks, placed):
    load = loads(tasks, placed)
    assert all(host in members and load[host] <= members[host].capacity for host in load)
    for task, hosts in placed.items():
        assert hosts and len(set(hosts)) == len(hosts) <= tasks[task].standbys + 1


@given(MEMBERS, DEMANDS, CURRENT)
@settings(max_examples=400)
def test_never_over_capacity_and_stable(members, tasks, current):
    placed = place(members, tasks, current)
    check_safe(members, tasks, placed)
    assert place(members, tasks, placed) == placed
    shuffled = dict(reversed(members.items())), dict(reversed(tasks.items())), dict(reversed(current.items()))
    assert place(*shuffled) == placed


@given(MEMBERS, DEMANDS, CURRENT)
@settings(max_examples=400)
def test_unplaced_task_fits_on_no_member(members, tasks, current):
    placed = place(members, tasks, current)
    firsts = loads(tasks, {task: hosts[:1] for task, hosts in placed.items()})
    for task in unplaced(tasks, placed):
        for host, member in members.items():
            assert member.draining or member.capacity - firsts.get(host, 0) < tasks[task].weight


@given(MEMBERS, DEMANDS, CURRENT)
@settings(max_examples=400)
def test_missing_standby_fits_on_no_member(members, tasks, current):
    placed = place(members, tasks, current)
    load = loads(tasks, placed)
    for task, hosts in placed.items():
        if len(hosts) <= tasks[task].standbys:
            for host in set(members) - set(hosts):
                free = members[host].capacity - load.get(host, 0)
                assert members[host].draining or free < tasks[task].weight


@given(MEMBERS, DEMANDS, CURRENT)
@settings(max_examples=400)
def test_pins_are_honoured(members, tasks, current):
    placed = place(members, tasks, current)
    used: dict[str, int] = {}
    for task in sorted(tasks, key=lambda name: (-tasks[name].weight, name)):
        demand = tasks[task]
        pin = demand.pin
        takes = pin in members and not members[pin].draining
        if takes and used.get(pin, 0) + demand.weight <= members[pin].capacity:
            used[pin] = used.get(pin, 0) + demand.weight
            assert placed[task][0] == pin


@given(MEMBERS, DEMANDS, st.lists(st.tuples(st.sampled_from(HOSTS), st.integers(0, 12)), max_size=8))
@settings(max_examples=400)
def test_only_tasks_of_those_that_left_move(members, tasks, changes):
    """Joins, deaths and returns: a task with a place on a member that stays keeps it as the first one."""
    tasks = {name: Demand(demand.weight, demand.standbys) for name, demand in tasks.items()}
    placed = place(members, tasks, {})
    for host, capacity in changes:
        after = dict(members)
        if host in after:
            del after[host]
        else:
            after[host] = Member(capacity)
        following = place(after, tasks, placed)
        check_safe(after, tasks, following)
        for task, hosts in placed.items():
            staying = [each for each in hosts if each in after and not after[each].draining]
            if staying:
                assert following[task][0] == staying[0]
        members, placed = after, following


@given(MEMBERS, DEMANDS, CURRENT)
@settings(max_examples=400)
def test_drained_member_is_left_where_there_is_room(members, tasks, current):
    placed = place(members, tasks, current)
    firsts = loads(tasks, {task: hosts[:1] for task, hosts in placed.items()})
    for task, hosts in placed.items():
        if any(members[host].draining for host in hosts):
            assert len(hosts) == 1 or not any(members[host].draining for host in hosts[1:])
            for host, member in members.items():
                assert member.draining or member.capacity - firsts.get(host, 0) < tasks[task].weight


@given(MEMBERS, DEMANDS, CURRENT)
@settings(max_examples=300)
def test_rebalancing_never_makes_the_most_loaded_worse(members, tasks, current):
    def most(placement):
        load = loads(tasks, placement)
        ratios = [Fraction(load.get(h, 0), m.capacity) for h, m in members.items() if m.capacity and not m.draining]
        return max(ratios, default=Fraction(0))

    before, after = place(members, tasks, current), rebalanced(members, tasks, current)
    check_safe(members, tasks, after)
    assert set(unplaced(tasks, after)) <= set(unplaced(tasks, before))
    if set(after) == set(before) and sum(map(len, after.values())) == sum(map(len, before.values())):
        assert most(after) <= most(before)
    assert rebalanced(members, tasks, after) == after


def test_new_tasks_are_spread_by_weight():
    members = {"a": Member(100), "b": Member(50)}
    placed = place(members, {f"t{n}": Demand() for n in range(30)}, {})
    assert loads({f"t{n}": Demand() for n in range(30)}, placed) == {"a": 20, "b": 10}


def test_member_that_joins_gets_nothing_until_it_is_asked_for():
    tasks = {f"t{n}": Demand() for n in range(10)}
    before = place({"a": Member(10)}, tasks, {})
    joined = {"a": Member(10), "b": Member(10)}
    assert place(joined, tasks, before) == before
    after = rebalanced(joined, tasks, before)
    assert loads(tasks, after) == {"a": 5, "b": 5}
    assert sum(before[task] != after[task] for task in tasks) == 5


def test_standby_gives_way_to_task_without_a_place():
    tasks = {"old": Demand(5, standbys=1), "new": Demand(5)}
    members = {"a": Member(5), "b": Member(5)}
    before = place(members, {"old": tasks["old"]}, {})
    assert len(before["old"]) == 2
    assert {len(hosts) for hosts in place(members, tasks, before).values()} == {1}


def test_lowered_capacity_moves_standbys_before_leaders():
    tasks = {"x": Demand(3, standbys=1), "y": Demand(3, standbys=1)}
    current = {"x": ("a", "b"), "y": ("b", "a")}
    assert place({"a": Member(3), "b": Member(3)}, tasks, current) == {"x": ("a",), "y": ("b",)}


def test_thousand_tasks_on_five_members_take_under_a_second():
    tasks = {f"task-{n}": Demand(1 + n % 5, n % 2) for n in range(1000)}
    members = {f"core-{n}": Member(2000) for n in range(5)}
    started = time.process_time()
    placed = place(members, tasks, {})
    del members["core-0"]
    after = place(members, tasks, placed)
    assert not unplaced(tasks, after)
    assert time.process_time() - started < 5
