"""The actions that `decision.decide` can ask for."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from replicator.coordination.leadership.view import Config, Problem
from replicator.errors import ReplicatorError
from replicator.model.checkpoint import Checkpoint

DrainReason: TypeAlias = Literal["switchover", "configure", "restart", "pause", "stop", "delete", "progress", "move"]


class Action(msgspec.Struct, frozen=True, tag=True):
    pass


class Stand(Action, frozen=True):
    """Join the election at the back."""


class Sweep(Action, frozen=True):
    """Delete election znodes of this session other than the known one, left by a create whose reply was lost.
    They would block the task for the life of the process."""

    names: tuple[str, ...]


class Stood(Action, frozen=True):
    """Our node is there: we are a STANDBY from now on."""


class Withdraw(Action, frozen=True):
    """Delete our node without having led under it. The next decision joins again, unless the process is leaving."""

    reason: str


class Lose(Action, frozen=True):
    """Our node is gone, or is no longer the one we knew: kill the worker, write nothing, start again."""

    reason: str


class WatchPredecessor(Action, frozen=True):
    """The one node that a standby watches."""

    name: str


class Win(Action, frozen=True):
    """We are first in line."""


class Hold(Action, frozen=True):
    """Nothing to do before this monotonic time."""

    until: float


class OpenTerm(Action, frozen=True):
    """Write our epoch into lastCommit. Earlier terms can't emit any more."""


class Save(Action, frozen=True):
    """Write what a worker that has ended delivered, before the next one starts from it."""

    checkpoint: Checkpoint


class StartWorker(Action, frozen=True):
    config: Config
    checkpoint: Checkpoint | None


class DrainWorker(Action, frozen=True):
    """Let the worker finish at a transaction boundary."""

    reason: DrainReason


class KillWorker(Action, frozen=True):
    reason: str


class AdoptConfig(Action, frozen=True):
    """The same configuration under a new version: nothing changes but the number."""

    config: Config


class Pause(Action, frozen=True):
    pass


class Unconfigure(Action, frozen=True):
    pass


class Retry(Action, frozen=True):
    """Leave PAUSED, UNCONFIGURED or FAILED: what kept us from running is gone. `take_over`: the sink's position is of a
    term before ours, although ZooKeeper does not know it."""

    kind: Literal["resumed", "configured", "retry"]
    by: str = ""
    take_over: bool = False
    reason: str = ""


class ConfirmFencing(Action, frozen=True):
    """Ask ZooKeeper whether the election znode exists; if so, the producer that fences is not of this election."""


class Fail(Action, frozen=True):
    error: Problem


class Release(Action, frozen=True):
    """End the term on purpose: lastCommit released, our node deleted, the command done, in one transaction.

    Attributes:
        successor: guid, or "" for the next in the queue.
        command: path of the command that asked for it, or "".
        why: the operator's reason, or "".
        moved: the successor is where the task's group has placed it.
    """

    reason: str
    successor: str = ""
    host: str = ""
    command: str = ""
    by: str = ""
    why: str = ""
    moved: bool = False


class Complete(Action, frozen=True):
    """Take a command off the queue that needs nothing more, or is refused."""

    path: str
    kind: Literal["retry", "restart", "switchover", "refused"]
    reason: str
    by: str = ""


class OrderCheck(Action, frozen=True):
    """Whoever runs checks on this Core finds the order in the facts; the command is done."""

    path: str
    id: str
    by: str = ""


class SetPosition(Action, frozen=True):
    """lastCommit gets the position that an operator ordered, and the command is done, in one transaction."""

    path: str
    checkpoint: Checkpoint
    reason: str
    by: str = ""


class RemoveTask(Action, frozen=True):
    """The task is deleted and has no contenders."""


def problem(code: str, what: str, found: str = "", wanted: str = "", fix: str = "") -> Problem:
    """An error as it travels in actions and records."""
    return ReplicatorError(code, what, found=found, wanted=wanted, fix=fix).to_dict()
