"""Decisions of the leader in an open term: commands, pausing, configuration, the worker."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from replicator.config.sealed import without_keys
from replicator.coordination.leadership.actions import (
    Action,
    AdoptConfig,
    Complete,
    DrainWorker,
    Hold,
    KillWorker,
    OrderCheck,
    Pause,
    Release,
    Retry,
    Save,
    SetPosition,
    StartWorker,
    Unconfigure,
    Withdraw,
)
from replicator.coordination.leadership.election import Contender
from replicator.coordination.leadership.facts import Facts
from replicator.coordination.leadership.host_faults import pass_on
from replicator.coordination.leadership.moving import hand_over
from replicator.coordination.leadership.progress_lease import give_up
from replicator.coordination.leadership.state import State
from replicator.coordination.leadership.view import Config, TaskView
from replicator.coordination.records import CommandRecord
from replicator.coordination.tasks.commands import Pending
from replicator.coordination.tasks.commits import behind
from replicator.coordination.tasks.position_changes import stood
from replicator.coordination.tasks.skips import skip
from replicator.coordination.tasks.status import UNKNOWN
from replicator.errors import ReplicatorError
from replicator.model.checkpoint import Checkpoint
from replicator.model.decoding import from_json
from replicator.model.position_order import reached

Actions = list[Action]


def lead(facts: Facts, view: TaskView, now: float) -> Actions:
    """The worker's drain comes first: what follows decides anew once it is done."""
    worker = facts.worker
    given_up = give_up(facts, view, now)
    if given_up:
        return given_up
    moved = hand_over(facts, view, now)
    if moved:
        return moved
    if view.commands and _delivered_before_failing(facts, view) is None:
        done = _command(facts, view, view.commands[0], now)
        if done:
            return done
    if worker is not None and worker.drain_reason is not None:
        return await_drained(facts, now)
    config = bounded(view, view.config or facts.good)
    match facts.state:
        case State.STARTING | State.RUNNING:
            return _run(facts, view, config, now)
        case State.IDLE:
            return _begin(facts, view, config, now)
        case State.PAUSED:
            return [] if view.desired == UNKNOWN or is_halted(facts, view) else [Retry("resumed")]
        case State.UNCONFIGURED:
            return [] if config is None else [Retry("configured")]
        case State.FAILED:
            delivered = _delivered_before_failing(facts, view)
            if delivered is not None:
                return [Save(delivered)]
            return _failed(facts, view) or pass_on(facts, view, now)
    return []


def is_halted(facts: Facts, view: TaskView) -> bool:
    """No worker is to run: the task is to be paused, or its source is locked. A task that is stopped for a cut-over
    runs until the position that was chosen for it."""
    if view.held:
        return True
    if view.desired != "paused":
        return False
    known = facts.checkpoint or view.commit.checkpoint
    return view.stop_at is None or known is None or reached(known.position, view.stop_at)


def bounded(view: TaskView, config: Config | None) -> Config | None:
    """With the position at which the worker ends by itself."""
    if config is None or view.stop_at is None:
        return config
    return msgspec.structs.replace(config, until=view.stop_at)


def await_drained(facts: Facts, now: float) -> Actions:
    """A draining worker has until `drain_until`."""
    assert facts.worker is not None  # noqa: S101 - the callers have looked
    if now >= facts.worker.drain_until:
        return [KillWorker("it did not reach a transaction boundary in time")]
    return [Hold(facts.worker.drain_until)]


def _run(facts: Facts, view: TaskView, config: Config | None, now: float) -> Actions:
    worker = facts.worker
    if is_halted(facts, view) or (view.desired == UNKNOWN and worker is None):
        return [DrainWorker("pause")]
    if worker is None:
        return _start(facts, view, config, now)
    if view.desired == UNKNOWN:
        return []  # a worker that is drained could not be started again
    if worker.outdated:
        return [DrainWorker("configure")]
    if config is None or config == worker.config:
        return []
    known = worker.config
    same = (_of_worker(config), config.orders, config.until) == (_of_worker(known), known.orders, known.until)
    return [AdoptConfig(config)] if same else [DrainWorker("configure")]


_NOT_OF_WORKERS: Final = frozenset({"labels", "group", "standbys", "weight", "verify"})


def _of_worker(config: Config) -> dict[str, Any]:
    """Labels choose tasks, groups hosts, and verifications have processes; no worker knows them. A secret that was
    sealed again under another key is the same."""
    return without_keys({key: value for key, value in config.data.items() if key not in _NOT_OF_WORKERS})


def _begin(facts: Facts, view: TaskView, config: Config | None, now: float) -> Actions:
    """No worker, and nothing decided yet."""
    unsaved = _unsaved(facts, view)
    if unsaved is not None:
        return [Save(unsaved)]
    if view.desired == UNKNOWN or is_halted(facts, view):
        return [Pause()]
    return _start(facts, view, config, now)


def _start(facts: Facts, view: TaskView, config: Config | None, now: float) -> Actions:
    if config is None:
        return [Unconfigure()] if facts.state is State.IDLE else []
    if now < facts.restart_at:
        return [Hold(facts.restart_at)]
    unsaved = _unsaved(facts, view)
    if unsaved is not None:
        return [Save(unsaved)]
    return [StartWorker(config, view.commit.checkpoint)]


def _unsaved(facts: Facts, view: TaskView) -> Checkpoint | None:
    """What the last worker of this term delivered and lastCommit does not know yet."""
    known, stored = facts.checkpoint, view.commit.checkpoint
    if known is None or known == stored:
        return None
    if stored is not None and (known.position == stored.position or behind(known.position, stored.position)):
        return None
    return known


def _delivered_before_failing(facts: Facts, view: TaskView) -> Checkpoint | None:
    """What lastCommit does not say yet of a term that failed: a position is ordered by what stands there."""
    record = view.commit.record
    if facts.state is not State.FAILED or record is None or record.epoch != facts.czxid:
        return None
    return _unsaved(facts, view)


def _failed(facts: Facts, view: TaskView) -> Actions:
    """A failed task keeps its place, so that nobody fails likewise in turn; a new configuration is a new chance, and so
    is a table in quarantine, or another address."""
    failed_with = (facts.failure.config_version, facts.failure.orders_version) if facts.failure else (-1, -1)
    if view.config is not None and (view.config.version, view.config.orders_version) != failed_with:
        return [Retry("configured")]
    if facts.failure is not None and view.config is not None and view.wanted_addresses != facts.failure.addresses:
        return [Retry("configured")]
    return []


def _command(facts: Facts, view: TaskView, pending: Pending, now: float) -> Actions:
    record = pending.record
    if record is None:
        return [Complete(pending.path, "refused", "an unknown command")]
    match record.verb:
        case "switchover":
            return _switchover(facts, view, pending, now)
        case "retry" if facts.state is State.FAILED:
            return _retry(facts, pending, record)
        case "retry":
            return [Complete(pending.path, "refused", f"retry: the task is {facts.state.value}", record.by)]
        case "restart":
            return _restart(facts, pending, record, now)
        case "check":
            return [OrderCheck(pending.path, record.id, record.by)]
        case "position":
            return [_set_position(facts, view, pending)]
        case "skip":
            return _skip(facts, view, pending)
    return [Complete(pending.path, "refused", f"unknown command '{record.verb}'", record.by)]


def _retry(facts: Facts, pending: Pending, record: CommandRecord) -> Actions:
    by, take_over = record.by, record.arguments.get("take_over") == "true"
    if take_over and not (facts.failure is not None and facts.failure.epoch):
        return [Complete(pending.path, "refused", "retry: there is no position to take over", by)]
    return [Retry("retry", by, take_over, record.arguments.get("reason", "")), Complete(pending.path, "retry", "", by)]


def _restart(facts: Facts, pending: Pending, record: CommandRecord, now: float) -> Actions:
    """The worker ends at a transaction boundary; once the command is done, the next decision starts another one in the
    same term. A term that began after the command has a new worker already."""
    if facts.state not in (State.STARTING, State.RUNNING, State.DRAINING, State.IDLE):
        return [Complete(pending.path, "refused", f"restart: the task is {facts.state.value}", record.by)]
    if pending.czxid < facts.opened_zxid:
        return [Complete(pending.path, "refused", "restart: another Core became RUNNING before it", record.by)]
    if facts.worker is None:
        return [Complete(pending.path, "restart", record.arguments.get("reason", ""), record.by)]
    return [DrainWorker("restart")] if facts.worker.drain_reason is None else await_drained(facts, now)


def _set_position(facts: Facts, view: TaskView, pending: Pending) -> Action:
    """Only while no worker runs, and only where the task still stands where the operator saw it stand."""
    record = pending.record
    assert record is not None  # noqa: S101 - the caller has looked
    if facts.worker is not None or facts.state not in (State.PAUSED, State.FAILED, State.UNCONFIGURED):
        return Complete(pending.path, "refused", f"position: the task is {facts.state.value}", record.by)
    try:
        wanted = from_json(record.arguments.get("checkpoint", ""), Checkpoint)
    except msgspec.MsgspecError as error:
        return Complete(pending.path, "refused", f"position: {error}", record.by)
    stored = view.commit.checkpoint
    if record.arguments.get("stood", "").encode() != stood(stored):
        now_at = str(stored.position) if stored else "none"
        return Complete(pending.path, "refused", f"position: it is now {now_at}", record.by)
    return SetPosition(pending.path, wanted, record.arguments.get("reason", ""), record.by)


def _skip(facts: Facts, view: TaskView, pending: Pending) -> Actions:
    """Only the transaction of the failure that we hold now, whatever it was when the operator looked."""
    record, config = pending.record, view.config or facts.good
    assert record is not None  # noqa: S101 - the caller has looked
    if facts.state is not State.FAILED or facts.worker is not None or facts.failure is None or config is None:
        return [Complete(pending.path, "refused", f"skip: the task is {facts.state.value}", record.by)]
    asked, reason = record.arguments.get("transaction", ""), record.arguments.get("reason", "")
    if not asked:
        return [Complete(pending.path, "refused", "skip: no transaction is given", record.by)]
    mariadb = config.data.get("source", {}).get("type") == "mariadb"
    try:
        move = skip(view.task, view.commit.checkpoint, facts.failure.error, asked, mariadb)
    except ReplicatorError as error:
        return [Complete(pending.path, "refused", f"skip: {error.code} {error.what}", record.by)]
    why = f"transaction {facts.failure.error['transaction']} skipped{': ' + reason if reason else ''}"
    return [SetPosition(pending.path, move.after, why, record.by), Retry("retry", record.by)]


def _switchover(facts: Facts, view: TaskView, pending: Pending, now: float) -> Actions:
    record = pending.record
    assert record is not None  # noqa: S101 - the caller has looked
    target = record.arguments.get("to", "") or record.arguments.get("host", "")
    if view.maintenance:
        return [Complete(pending.path, "refused", "switchover: maintenance, no standby is promoted", record.by)]
    if not target and pending.czxid < facts.opened_zxid:
        return [Complete(pending.path, "refused", "switchover: another Core became RUNNING before it", record.by)]
    if target and _names(view.own, target):
        return [Complete(pending.path, "switchover", "is already RUNNING", record.by)]
    successor = _successor(view, target)
    if successor is None:
        wanted = f"'{target}' is not on standby" if target else "there is no standby"
        return [Complete(pending.path, "refused", f"switchover: {wanted}", record.by)]
    if facts.worker is None:
        return [_hand_over(facts, view, pending, successor, record.by)]
    if facts.worker.drain_reason is None:
        return [DrainWorker("switchover")]
    return await_drained(facts, now)


def _hand_over(facts: Facts, view: TaskView, pending: Pending, successor: Contender, by: str) -> Action:
    """Only a term that was opened is released; one that failed before has nothing to hand over but its place."""
    record = view.commit.record
    if record is None or record.epoch != facts.czxid:
        return Withdraw("switchover")
    why = pending.record.arguments.get("reason", "") if pending.record is not None else ""
    return Release("switchover", successor.guid, successor.host, pending.path, by, why)


def _names(contender: Contender | None, target: str) -> bool:
    return contender is not None and target in (contender.guid, contender.host)


def _successor(view: TaskView, target: str) -> Contender | None:
    """Next in line, or the one that `target` names by guid or host."""
    others = [entry for entry in view.field.contenders if view.own is None or entry.name != view.own.name]
    if target:
        others = [entry for entry in others if _names(entry, target)]
    return others[0] if others else None
