"""The table of states is complete, and every state can be reached and left."""

from __future__ import annotations

import pytest

from replicator.coordination.leadership.state import LEADING, TRANSITIONS, Event, State, step
from replicator.errors import ProcessError


def test_every_state_has_transitions_and_a_way_back():
    assert set(TRANSITIONS) == set(State)
    for state in State:
        assert step(state, Event.WITHDRAWN) is State.ABSENT


def test_every_state_is_reached_from_the_start():
    reached, frontier = {State.ABSENT}, [State.ABSENT]
    while frontier:
        for state in TRANSITIONS[frontier.pop()].values():
            if state not in reached:
                reached.add(state)
                frontier.append(state)
    assert reached == set(State)


def test_every_event_means_something():
    assert {event for row in TRANSITIONS.values() for event in row} == set(Event)


def test_a_pair_that_is_not_in_the_table_is_a_fault():
    with pytest.raises(ProcessError, match="E5011"):
        step(State.STANDBY, Event.STREAMING)


def test_no_term_without_opening_it():
    """Into the leading states leads `opened` alone, but for a failure that never started a worker."""
    doors = {
        (state, event)
        for state, row in TRANSITIONS.items()
        for event, after in row.items()
        if state not in LEADING and after in LEADING
    }
    assert doors == {(State.WAITING, Event.OPENED), (State.WAITING, Event.FAIL)}
