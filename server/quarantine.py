"""Puts tables in quarantine, releases them, and replays missing rows by a separate task."""

from __future__ import annotations

from typing import Any

from replicator.config.load import parse_task, to_data
from replicator.config.task import Records, TaskConfig
from replicator.coordination.clock import now_ms
from replicator.coordination.overview import TaskOverview
from replicator.errors import ConfigError, ProcessError, SourceError
from replicator.model.quarantine import Quarantined
from replicator.model.quarantine_orders import check_name, put, release
from replicator.model.quarantine_orders import replay as replayed
from server.places import end_at, start_at
from server.table_definitions import DefinitionOperations
from server.task_operations import TaskOperations


def set_quarantine(
    operations: TaskOperations,
    definitions: DefinitionOperations,
    name: str,
    table: str,
    *,
    leave_out: bool,
    by: str,
    reason: str = "",
) -> bool:
    """Orders that the task leaves a table out, or goes on with it; its worker remembers where the table stops or goes
    on when it takes that up. False when nothing changes.

    Raises:
        ProcessError: E5007, there is no configuration, its tables are not read yet, or `table` is in no quarantine.
        ConfigError: E1003, `table` is not one table, or none that the task carries; E2340, its source is topics.
        SourceError: E2205, the task knows no such table.
        VersionConflict: E4006, somebody else ordered something meanwhile.
    """
    view, before = operations.task(name), operations.orders(name)
    marks = _marks(view)
    if leave_out:
        check_name(table)
        check_there(view, definitions, table)
        orders = put(before.orders, marks, table, now_ms())
    else:
        orders = release(before.orders, marks, table, now_ms())
        if orders == before.orders:
            raise _not_in(view, table)
    if orders == before.orders:
        return False
    operations.order(name, before, orders, by, f"{table}{'' if leave_out else ': release'}", reason=reason)
    return True


def check_there(view: TaskOverview, definitions: DefinitionOperations, table: str) -> None:
    """The Server asks no source: the tables are those of the schema history, and the one that the task failed at."""
    database, _, name = table.partition(".")
    selection = parse_task(_config(view)).database.selection()
    if not selection.matches(database, name):
        wanted = f"a table of source.tables: {', '.join(selection.patterns)}"
        raise ConfigError("E1003", f"'{view.name}' does not replicate the table", found=table, wanted=wanted[:300])
    if any(problem.get("table") == table for problem in view.problems):
        return
    known = definitions.has(view, database, name)
    if known is None:
        fix = f"Start the task once, or exclude the table with `!{table}` in source.tables."
        raise ProcessError("E5007", f"'{view.name}' has not read the definitions of its tables yet", fix=fix)
    if not known:
        raise SourceError(
            "E2205",
            "the table does not exist at the position of the task",
            found=table,
            wanted="an existing table",
            fix=f"`replicator task schema {view.name}` lists them; names are case-sensitive.",
        )


def _not_in(view: TaskOverview, table: str) -> ProcessError:
    fix = f"`replicator task quarantine {view.name} --list` lists the tables in quarantine."
    return ProcessError("E5007", f"{table} is not in quarantine in '{view.name}'", fix=fix)


def replay_first(
    operations: TaskOperations, name: str, table: str, *, by: str, dry_run: bool, reason: str = ""
) -> bool:
    """Orders the task to deliver the missing rows of `table` first, and then to continue with it. False: the table is
    not in quarantine.

    Raises:
        VersionConflict: E4006.
        ConfigError: E1003.
    """
    check_name(table)
    view, before = operations.task(name), operations.orders(name)
    orders = replayed(before.orders, _marks(view), table, now_ms())
    if orders is None:
        return False
    if not dry_run and orders != before.orders:
        operations.order(name, before, orders, by, f"{table}: replay", reason=reason)
    return True


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
            found = f"the rows left out from {mark.since} to {mark.until} have been delivered"
        raise ProcessError(
            "E5007",
            f"no rows of {table} were left out",
            found=found,
            fix="None required: the table has no rows to replay.",
        )
    data, config = _config(view), parse_task(_config(view))
    source, sink = data["source"], data["sink"]
    source |= {"tables": [table], "on_table_error": "fail", "start": start_at(mark.since), "snapshot": "never"}
    source["until"] = end_at(mark.until)
    if isinstance(config.sink, Records):
        if config.sink.format == "debezium":
            sink["debezium"]["topic_prefix"] = config.sink.debezium.topic_prefix or view.name
        sink["topic"] = config.sink.topic_template.replace("{task}", view.name)
    if "dead_letter_topic" in sink:
        sink["dead_letter_topic"] = sink["dead_letter_topic"].replace("{task}", view.name)
    return parse_task({**data, "name": new or f"{view.name}.replay-{table}"})


def _config(view: TaskOverview) -> dict[str, Any]:
    """With all its defaults, to be changed."""
    if view.config is None:
        raise ProcessError(
            "E5007",
            f"task '{view.name}' has no configuration",
            fix="Give it one first: `replicator task apply -f FILE`.",
        )
    return to_data(parse_task(view.config))


def _last(view: TaskOverview, table: str) -> Quarantined | None:
    marks = [mark for mark in _marks(view) if mark.table == table]
    return marks[-1] if marks else None


def _marks(view: TaskOverview) -> tuple[Quarantined, ...]:
    return view.checkpoint.quarantined if view.checkpoint else ()
