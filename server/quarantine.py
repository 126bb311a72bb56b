"""Tables in quarantine: put there, released, and what was left out replayed by a task of its own."""

from __future__ import annotations

from typing import Any

from replicator.config.load import parse_task, to_data
from replicator.config.task import TaskConfig
from replicator.coordination.overview import TaskOverview
from replicator.errors import ProcessError
from replicator.model.position import Position
from replicator.model.quarantine import Quarantined
from server.control import Control


def set_quarantine(control: Control, name: str, table: str, *, release: bool, by: str) -> bool:
    """Changes the task's configuration; its worker remembers where the table stops or goes on when it takes that up.
    False when nothing changes.

    Raises:
        ProcessError: E5007, the task has no configuration.
        ConfigError: E1003, `table` is not one table.
        VersionConflict: E4006.
    """
    view = control.task(name)
    data = _config(view)
    source = data["source"]
    tables = [one for one in source.get("quarantine", ()) if one != table]
    source["quarantine"] = tables if release else [*tables, table]
    if release:
        source["mended"] = _mended(view, table, source.get("mended", {}))
    return control.replace(name, parse_task(data), by, view.config_version)


def _mended(view: TaskOverview, table: str, before: dict[str, int]) -> dict[str, int]:
    """With this table, where an error has put it there; without those of which no worker can have a mark any more."""
    marks, kept = _marks(view), _kept(view, before)
    open_ = [mark.time_ms for mark in marks if mark.table == table and mark.until is None and mark.error is not None]
    return {**kept, table: max(open_)} if open_ else kept


def replay_first(view: TaskOverview, table: str) -> TaskConfig | None:
    """The task's configuration with which it delivers first what it leaves out of `table` now, and then goes on with
    it. None: the table is not in quarantine."""
    mark = _last(view, table)
    if mark is None or mark.until is not None:
        return None
    data = _config(view)
    source = data["source"]
    source["quarantine"] = [one for one in source.get("quarantine", ()) if one != table]
    source["replay"] = {**_kept(view, source.get("replay", {})), table: mark.time_ms}
    return parse_task(data)


def replay(view: TaskOverview, table: str, new: str) -> TaskConfig:
    """The configuration of a task that delivers what the last quarantine of `table` left out, to the same topics.

    Raises:
        ProcessError: E5007, it was in none, still is, or everything is delivered already.
        ConfigError: E1007, the name is not fit.
    """
    mark = _last(view, table)
    if mark is None or mark.until is None or mark.replayed:
        found = "it was not in quarantine" if mark is None else f"in quarantine since {mark.since}"
        if mark is not None and mark.replayed:
            found = f"what was left out from {mark.since} to {mark.until} has been delivered"
        raise ProcessError("E5007", f"there is nothing of {table} to replay", found=found)
    data, config = _config(view), parse_task(_config(view))
    source, sink = data["source"], data["sink"]
    source |= {
        "tables": [table],
        "quarantine": [],
        "mended": {},
        "replay": {},
        "on_table_error": "fail",
        "start": _start(mark.since),
    }
    source["until"] = {"file": mark.until.file, "position": mark.until.offset}
    if sink["format"] == "debezium":
        sink["debezium"]["topic_prefix"] = config.sink.debezium.topic_prefix or view.name
    sink["topic"] = config.sink.topic_template.replace("{task}", view.name)
    if "dead_letter_topic" in sink:
        sink["dead_letter_topic"] = sink["dead_letter_topic"].replace("{task}", view.name)
    return parse_task({**data, "name": new or f"{view.name}.replay-{table}"})


def _kept(view: TaskOverview, times: dict[str, int]) -> dict[str, int]:
    return {table: time_ms for table, time_ms in times.items() if any(mark.table == table for mark in _marks(view))}


def _config(view: TaskOverview) -> dict[str, Any]:
    """With all its defaults, to be changed."""
    if view.config is None:
        raise ProcessError("E5007", f"task '{view.name}' has no configuration")
    return to_data(parse_task(view.config))


def _last(view: TaskOverview, table: str) -> Quarantined | None:
    marks = [mark for mark in _marks(view) if mark.table == table]
    return marks[-1] if marks else None


def _marks(view: TaskOverview) -> tuple[Quarantined, ...]:
    checkpoint = view.last_commit.checkpoint if view.last_commit else None
    return checkpoint.quarantined if checkpoint else ()


def _start(position: Position) -> dict[str, Any]:
    if position.gtid:
        return {"gtid": position.gtid}
    return {"file": position.file, "position": position.offset}
