"""Shows the position of a task and its history, and sets it while the task does not run."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from replicator.coordination.clock import now_ms
from replicator.coordination.layout import Layout
from replicator.coordination.leadership.state import State
from replicator.coordination.overview import Overview, TaskOverview
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import CommandRecord, HistoryRecord
from replicator.coordination.tasks import position_changes
from replicator.coordination.tasks.commands import Commands
from replicator.coordination.tasks.commits import Commit, Commits
from replicator.coordination.tasks.history import History
from replicator.coordination.tasks.position_changes import PositionChange, Target, stood
from replicator.coordination.tasks.position_history import PositionHistory
from replicator.coordination.tasks.skips import skip
from replicator.errors import ConfigError, NodeExists, ProcessError, VersionConflict
from replicator.model.checkpoint import Checkpoint
from replicator.model.quarantine import TaskOrders, left_out
from replicator.model.quarantine_orders import forked
from server.places import start_at

_STILL = (State.PAUSED.value, State.FAILED.value, State.UNCONFIGURED.value)
"""States of an instance that leads without a worker."""


class Positions:
    """Thread-safe, as TaskOperations is; raises NotConnected and NodeMissing E5003 likewise."""

    def __init__(self, coordinator: Coordinator, layout: Layout) -> None:
        self._overview = Overview(coordinator, layout)
        self._commits = Commits(coordinator, layout)
        self._commands = Commands(coordinator, layout)
        self._history = History(coordinator, layout)
        self._position_history = PositionHistory(coordinator, layout)

    def history(self, name: str) -> list[Checkpoint]:
        """Oldest first."""
        self._overview.task(name)
        return self._position_history.read(name)

    def find(self, name: str, text: str) -> Checkpoint:
        """The last point of the position history at or before a time. Raises ProcessError E5007 when there is none."""
        at = position_changes.moment(text)
        found = self._position_history.at(name, at)
        if found is None:
            points = self._position_history.read(name)
            oldest = f"{points[0].time_ms}" if points else "no position"
            raise ProcessError(
                "E5007",
                f"the position history of '{name}' begins after {text[:60]}",
                found=f"oldest: {_shown(points[0].time_ms) if points else oldest}",
                fix=f"`replicator task position history {name}` lists the positions.",
            )
        return found

    def preview(self, name: str, target: Target) -> PositionChange:
        view = self._overview.task(name)
        return position_changes.move(self._commit(name).checkpoint, target, is_mariadb(view), now_ms())

    def set(self, name: str, target: Target, by: str, reason: str) -> PositionChange:
        """Orders the move: the instance that leads carries it out, or, where nobody stands, we do.

        Raises:
            ProcessError: E5007 while the task runs, or when nothing would change.
            VersionConflict: E4006, the position changed meanwhile.
        """
        view = self._overview.task(name)
        commit = self._commit(name)
        move = position_changes.move(commit.checkpoint, target, is_mariadb(view), now_ms())
        require_stopped(view, "position")
        still = move.direction == "nowhere" and not move.forgets_server
        if still and not isinstance(target, position_changes.TransactionStart):
            raise ProcessError(
                "E5007", f"'{name}' is already at that position", found=str(move.after.position), fix="None required."
            )
        if view.running is None:
            self._write(name, commit, move, by, reason)
        else:
            self._order(name, move, by, reason)
        return move

    def skip(
        self, name: str, transaction: str, by: str, reason: str, dry_run: bool
    ) -> tuple[PositionChange, dict[str, str]]:
        """Has the transaction skipped that the FAILED task met its error in, and the task tried again. Returns the move
        and the error. The leader compares `transaction` with its own error when it carries the command out.

        Raises:
            ProcessError: E5007 unless it is FAILED, or when the transaction is behind its position; E5016, it failed at
                another transaction, or at none.
            ConfigError: E1003, no transaction is named, and it is not only asked.
            SourceError: E2209, see `skips.skip`.
        """
        if not (transaction or dry_run):
            raise ConfigError("E1003", "no transaction is given", wanted='{"transaction": GTID or FILE:OFFSET}')
        view = self._overview.task(name)
        if view.state != State.FAILED.value:
            raise ProcessError(
                "E5007",
                f"task '{name}' has not failed",
                found=view.state,
                wanted="failed",
                fix=f"`replicator task describe {name}` shows its state; only a failed task can skip.",
            )
        error = view.figures.error if view.figures else None
        move = skip(name, self._commit(name).checkpoint, error, transaction, is_mariadb(view))
        assert error is not None, "else it would be refused"  # noqa: S101
        if not dry_run:
            self._commands.submit(name, "skip", {"transaction": error["transaction"], "reason": reason}, by)
        return move, error

    def forked(self, name: str, new: str, text: str) -> tuple[dict[str, Any], TaskOrders | None]:
        """The configuration of a new task that begins where `name` stood at a time ("": where it stands now), and the
        tables that it leaves out, because `name` did there."""
        view = self._overview.task(name)
        if view.config is None:
            raise ProcessError(
                "E5007",
                f"task '{name}' has no configuration to copy",
                fix="Give it one first: `replicator task apply -f FILE`.",
            )
        point = self.find(name, text) if text else self._commit(name).checkpoint
        if point is None:
            raise ProcessError(
                "E5007", f"task '{name}' has no position yet", fix="Start the task once, so that it has a position."
            )
        start = start_at(point.position)
        tables = left_out(point.quarantined) | (frozenset() if text else frozenset(view.orders.tables))
        orders = forked(tables, now_ms()) if tables else None
        source = {**view.config["source"], "start": start}
        if not point.position.topics:
            source["snapshot"] = "never"
        return {**view.config, "name": new, "source": source}, orders

    def _commit(self, name: str) -> Commit:
        return self._commits.read(name)

    def _write(self, name: str, commit: Commit, move: PositionChange, by: str, reason: str) -> None:
        try:
            self._commits.overwrite(name, commit, move.after)
        except (VersionConflict, NodeExists) as error:
            raise VersionConflict("E4006", f"the position of '{name}' has changed in the meantime") from error
        position = str(move.after.position)
        record = HistoryRecord(kind="position", time_ms=now_ms(), by=by, reason=reason, position=position)
        self._history.append(name, record)

    def _order(self, name: str, move: PositionChange, by: str, reason: str) -> CommandRecord:
        arguments = {
            "checkpoint": msgspec.json.encode(move.after).decode(),
            "stood": stood(move.before).decode(),
            "reason": reason,
        }
        return self._commands.submit(name, "position", arguments, by)


def require_stopped(view: TaskOverview, what: str) -> None:
    """Raises ProcessError E5007 while a worker may be running; `what` is to be set."""
    if view.running is None or (view.state in _STILL and view.desired != "deleted"):
        return
    raise ProcessError(
        "E5007",
        f"the {what} of '{view.name}' can't be set while it runs",
        found=view.state,
        wanted="paused, failed, or without a contender",
        fix=f"`replicator task pause {view.name}` first.",
    )


def is_mariadb(view: TaskOverview) -> bool:
    source = (view.config or {}).get("source")
    return isinstance(source, dict) and source.get("type") == "mariadb"


def _shown(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="seconds")
