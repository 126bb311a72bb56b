"""The states of a task on one Core, and the transitions between them, as data.

    ABSENT ──stood──► STANDBY ──won──► WAITING ──opened──► IDLE ──start──► STARTING ──streaming──► RUNNING
                                                            ▲  ▲              │                       │
                                                            │  └──drained── DRAINING ◄────drain──────┤
                                                            └──retry── FAILED ◄────failed────────────┘
    IDLE also becomes PAUSED or UNCONFIGURED and comes back from there.

- ABSENT: no node of ours stands: before the first election, between two sessions, or withdrawn.
- STANDBY: stands, somebody else is before us.
- WAITING: first in line; the lease of the last term may still run.
- IDLE: the term is opened (lastCommit names our epoch); the worker may be started at any moment.
- STARTING: a worker is being started, or waits for its turn after it died.
- RUNNING: the worker's stream is open, or it tries by itself to open it again.
- DRAINING: the worker finishes at a transaction boundary: for a release, a new configuration, or a pause.
- PAUSED: leads without a worker because an operator wants so.
- UNCONFIGURED: leads without a worker because there is no configuration that can be used.
- FAILED: leads without a worker because of an error that trying again does not mend. A term that failed before it was
  opened (lastCommit not understood) goes back to WAITING instead: that is the event `reopen`.

Whatever the state, losing our node (session, lease, or by hand) or giving it up leads to ABSENT: that is the event
`withdrawn`, the one way back to the start. A pair that is not in the table is a fault of ours and raises.
"""

from __future__ import annotations

from enum import Enum

from replicator.errors import ProcessError


class State(Enum):
    ABSENT = "absent"
    STANDBY = "standby"
    WAITING = "waiting"
    IDLE = "idle"
    STARTING = "starting"
    RUNNING = "running"
    DRAINING = "draining"
    PAUSED = "paused"
    UNCONFIGURED = "unconfigured"
    FAILED = "failed"


class Event(Enum):
    STOOD = "stood"
    WON = "won"
    OPENED = "opened"
    START = "start"
    STREAMING = "streaming"
    DIED = "died"
    DRAIN = "drain"
    DRAINED = "drained"
    PAUSE = "pause"
    UNCONFIGURE = "unconfigure"
    FAIL = "fail"
    RETRY = "retry"
    REOPEN = "reopen"
    WITHDRAWN = "withdrawn"


_S, _E = State, Event

TRANSITIONS: dict[State, dict[Event, State]] = {
    _S.ABSENT: {_E.STOOD: _S.STANDBY, _E.WITHDRAWN: _S.ABSENT},
    _S.STANDBY: {_E.WON: _S.WAITING, _E.WITHDRAWN: _S.ABSENT},
    _S.WAITING: {_E.OPENED: _S.IDLE, _E.FAIL: _S.FAILED, _E.WITHDRAWN: _S.ABSENT},
    _S.IDLE: {
        _E.START: _S.STARTING,
        _E.PAUSE: _S.PAUSED,
        _E.UNCONFIGURE: _S.UNCONFIGURED,
        _E.FAIL: _S.FAILED,
        _E.WITHDRAWN: _S.ABSENT,
    },
    _S.STARTING: {
        _E.STREAMING: _S.RUNNING,
        _E.DIED: _S.STARTING,
        _E.START: _S.STARTING,
        _E.DRAIN: _S.DRAINING,
        _E.FAIL: _S.FAILED,
        _E.WITHDRAWN: _S.ABSENT,
    },
    _S.RUNNING: {
        _E.STREAMING: _S.RUNNING,
        _E.DIED: _S.STARTING,
        _E.DRAIN: _S.DRAINING,
        _E.FAIL: _S.FAILED,
        _E.WITHDRAWN: _S.ABSENT,
    },
    _S.DRAINING: {
        _E.STREAMING: _S.DRAINING,
        _E.DRAINED: _S.IDLE,
        _E.DIED: _S.IDLE,
        _E.FAIL: _S.FAILED,
        _E.WITHDRAWN: _S.ABSENT,
    },
    _S.PAUSED: {_E.RETRY: _S.IDLE, _E.FAIL: _S.FAILED, _E.WITHDRAWN: _S.ABSENT},
    _S.UNCONFIGURED: {_E.RETRY: _S.IDLE, _E.FAIL: _S.FAILED, _E.WITHDRAWN: _S.ABSENT},
    _S.FAILED: {_E.RETRY: _S.IDLE, _E.REOPEN: _S.WAITING, _E.WITHDRAWN: _S.ABSENT},
}

LEADING = frozenset(TRANSITIONS) - {State.ABSENT, State.STANDBY, State.WAITING}
"""The states within a term: lastCommit carries our epoch."""


def step(state: State, event: Event) -> State:
    """The state after `event`. Raises ProcessError E5011 for a pair that is not in the table."""
    try:
        return TRANSITIONS[state][event]
    except KeyError:
        raise ProcessError("E5011", f"unexpected event '{event.value}' in state {state.value}") from None
