"""`replicator task describe`: shows one task in detail."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

import click

from replicator.cli import check_via_core, snapshot_line, verification_line
from replicator.cli.task import history, render
from replicator.cli.task.client import Client
from replicator.cli.task.options import choice_options, output_option, with_client
from replicator.cli.task.selection import Choice, chosen, for_each, is_one, named
from replicator.cli.terminal import clean, table, width
from replicator.errors import ReplicatorError

_RECENT = 5


@click.command("describe")
@choice_options
@output_option("text", "json", "yaml")
@with_client
def command(choice: Choice, output: str, client: Client) -> None:
    """Show tasks in detail: state, Cores, problems with their remedies, configuration, recent history."""
    picked = chosen(client, choice)
    if output != "text" and not is_one(choice):
        answer = client.tasks()
        answer["items"] = named(answer["items"], picked)
        click.echo(render.structured(answer, output), nl=False)
        return
    shown = 0

    def describe(name: str) -> None:
        nonlocal shown
        task = client.task(name)
        if output != "text":
            click.echo(render.structured(task, output), nl=False)
            return
        recent = client.history(name, _RECENT)["items"]
        edit = client.edit_lock(name)
        check = client.last_check(name)
        click.echo("\n".join([*([""] if shown else []), *_lines(task, recent, edit, check)]))
        shown += 1

    for_each(picked, describe)


def _lines(
    task: dict[str, Any], recent: list[dict[str, Any]], edit: dict[str, Any], check: dict[str, Any]
) -> Iterator[str]:
    yield from _facts(task, check)
    if edit["held"]:
        since = render.moment(edit["since_ms"])
        yield f"\nBeing edited by {clean(edit['by'])} on {clean(edit['host'])}, since {since}."
    if task["problems"]:
        yield from ("", "Problems:")
        for problem in task["problems"]:
            yield from _problem(problem)
    ill = [mark["error"] for mark in task.get("quarantined", ()) if not mark["until"] and mark.get("error")]
    if ill:
        yield from ("", "Why tables are in quarantine:")
        for problem in ill:
            yield from _problem(problem)
    yield from ("", "Instances:" if task["instances"] else "Instances: none. Start a Core: replicator core ...")
    yield from _instances(task["instances"])
    if task["config"] is None:
        yield from ("", "Configuration: none")
    else:
        yield from ("", "Configuration, where it is not the default (`-o yaml` has all of it):")
        yield textwrap.indent(render.as_yaml(_chosen(task["config"])).rstrip(), "  ")
    if recent:
        yield from ("", "Recent history:", textwrap.indent(history.text(recent, columns=width()).rstrip(), "  "))


def _facts(task: dict[str, Any], check: dict[str, Any]) -> Iterator[str]:
    wanted = f"{task['desired']}"
    if task["desired_by"]:
        since = f", {render.age(task['desired_ms'])} ago" if task.get("desired_ms") else ""
        wanted += f" (by {task['desired_by']}{since}{': ' + task['desired_reason'] if task['desired_reason'] else ''})"
    facts = {
        "Name": task["name"],
        **({"Labels": labels} if (labels := render.labels(task)) else {}),
        "State": render.coloured(render.state(task)),
        "Wanted": wanted,
        **_maintenance(task),
        **_group(task),
        "Running on": task["host"] or "-",
        "Standbys": ", ".join(task["standbys"]) or "none",
        **_addresses(task),
        **_retrying(task),
        "Lag": f"{render.lag(task)}{_because(task)}",
        **_behind(task),
        **_clock(task),
        "Retention headroom": f"{render.duration(task['retention_headroom_s'])} until required binlog may be purged"
        if task.get("retention_headroom_s") is not None
        else "-",
        **_connection(task),
        "Rows": f"{task['rows']}" + (f" ({render.rate(task['rows_per_s'])}/s)" if render.moving(task) else ""),
        **_dead_letters(task),
        **_conflicts(task),
        **_applied(task),
        **_skipped(task),
        **_quarantined(task),
        **_snapshot(task),
        **_verification(task),
        **({"Checked": check_via_core.line(check, task["version"])} if check["checked"] else {}),
        "Position": task["position"] or "-",
        "GTID": task["gtid"] or "-",
        "Last event": f"{render.age(task['last_event_ms'])} ago" if task["last_event_ms"] else "-",
        "Checkpoint": f"{render.age(task['checkpoint_ms'])} ago" if task["checkpoint_ms"] else "-",
        "Epoch": task["epoch"] or "-",
        "Version": f"{task['version']} of {render.moment(task['updated_ms'])} by {task['updated_by'] or '-'}",
    }
    for key, value in facts.items():
        text = value if key == "State" else clean(value)
        yield from _wrapped(f"{key + ':':<12} ", str(text))


def _group(task: dict[str, Any]) -> dict[str, str]:
    if not task.get("group"):
        return {}
    pin = f", pinned to {task['pin']}" if task["pin"] else ""
    return {"Group": f"{task['group']}, placed on {', '.join(task['placed']) or 'no Core'}{pin}"}


def _because(task: dict[str, Any]) -> str:
    return f" ({task['lag_note']})" if task.get("lag_note") and render.lag(task) != "-" else ""


def _retrying(task: dict[str, Any]) -> dict[str, str]:
    retried = task.get("retrying")
    if not retried:
        return {}
    side = {"": "the task", "registry": "the schema registry"}.get(retried["side"], f"the {retried['side']}")
    attempts = f", {retried['attempts']} failed attempts" if retried["attempts"] else ""
    error = " ".join(text for text in (retried["code"], retried["what"]) if text)
    return {"Retrying": f"{side} for {render.duration(retried['seconds'])}{attempts}: {error}. {retried['effect']}"}


def _connection(task: dict[str, Any]) -> dict[str, str]:
    """Whether the source is read over a connection that tasks of the Core share."""
    shared = task.get("source_shared")
    return {} if shared is None else {"Connection": "shared" if shared else "own"}


def _addresses(task: dict[str, Any]) -> dict[str, str]:
    return {f"{one['section'].capitalize()} address": _address(one) for one in task.get("addresses") or ()}


def _address(one: dict[str, Any]) -> str:
    text = f"{one['in_use'] or 'not connected'} (ddns:{one['name']})"
    if one["error"] and one["wanted"] and one["wanted"] != one["in_use"]:
        since = f" {render.age(one['since_ms'])} ago" if one["since_ms"] else ""
        return f"{text}; {one['wanted']} refused{since}: {one['error']['found']}"
    if one["error"]:
        return f"{text}; {one['error']['code']} {one['error']['what']}"
    return f"{text}; {one['wanted']} is being checked" if one["wanted"] not in ("", one["in_use"]) else text


def _behind(task: dict[str, Any]) -> dict[str, str]:
    """Where there is something."""
    size, count = task.get("behind_bytes"), task.get("behind_transactions")
    unit = "records" if size is None else "transactions"
    parts = [f"{render.size(size)} of binlog"] if size else []
    parts += [f"{count} {unit}"] if count else []
    return {"Behind": ", ".join(parts)} if parts else {}


def _clock(task: dict[str, Any]) -> dict[str, str]:
    """Where it matters."""
    skew = task.get("clock_skew_s") or 0.0
    if abs(skew) < 1:
        return {}
    where = "ahead of" if skew > 0 else "behind"
    return {"Clock skew": f"the source's clock is {render.duration(abs(skew))} {where} the Core's"}


def _chosen(config: dict[str, Any]) -> dict[str, Any]:
    """What somebody decided. The znode has every default too; all of it where we don't understand it."""
    from replicator.config.load import parse_task  # here: pydantic would double the start of every command

    try:
        return parse_task(config).model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    except ReplicatorError:
        return config


def _maintenance(task: dict[str, Any]) -> dict[str, str]:
    if not task.get("maintenance"):
        return {}
    whose = "of all tasks" if task["maintenance"] == "cluster" else "of this task"
    why = f": {task['maintenance_reason']}" if task["maintenance_reason"] else ""
    return {"Maintenance": f"{whose}, no standby is promoted (by {task['maintenance_by'] or '-'}{why})"}


def _dead_letters(task: dict[str, Any]) -> dict[str, str]:
    if not task.get("dead_letters"):
        return {}
    topic = ((task["config"] or {}).get("sink") or {}).get("dead_letter_topic", "")
    return {"Too large": f"{task['dead_letters']} records, replaced by references in {topic}"}


def _conflicts(task: dict[str, Any]) -> dict[str, str]:
    if not task.get("conflicts"):
        return {}
    database = ((task["config"] or {}).get("sink") or {}).get("position_database", "replicator")
    kinds = [f"{each['count']} {each['kind']} ({each['policy']})" for each in task.get("conflict_counts", ())]
    by_kind = f": {', '.join(kinds)}" if kinds else ""
    return {"Conflicts": f"{task['conflicts']}{by_kind}; see {database}.replicator_conflicts at the target"}


def _applied(task: dict[str, Any]) -> dict[str, str]:
    if task.get("by_sql"):
        return {"Applied": "by SQL; `replicator check` shows the GRANT for row images"}
    return {"Applied": "as row images (BINLOG)"} if task.get("apply_mode") == "binlog" else {}


def _skipped(task: dict[str, Any]) -> dict[str, str]:
    count = task.get("skipped_transactions")
    return {"Loop guard": f"{count} transactions of tasks left out"} if count else {}


def _quarantined(task: dict[str, Any]) -> dict[str, str]:
    marks = [mark for mark in task.get("quarantined", ()) if not mark["until"]]
    return (
        {"Quarantine": ", ".join(f"{mark['table']} since {mark['since'] or 'it is taken up'}" for mark in marks)}
        if marks
        else {}
    )


def _snapshot(task: dict[str, Any]) -> dict[str, str]:
    snapshot = task.get("snapshot")
    return {"Snapshot": snapshot_line.with_times(snapshot)} if snapshot else {}


def _verification(task: dict[str, Any]) -> dict[str, str]:
    found = task.get("verification")
    nightly = task.get("nightly")
    return {
        **({"Verified": verification_line.line(found, task["version"])} if found else {}),
        **({"Nightly": verification_line.nightly(nightly)} if nightly else {}),
    }


def _wrapped(head: str, text: str) -> list[str]:
    limit = width()
    if limit is None or len(head) + len(text) <= limit:
        return [f"{head}{text}"]
    return textwrap.wrap(text, max(limit, 30), initial_indent=head, subsequent_indent=" " * len(head))


def _problem(problem: dict[str, str]) -> Iterator[str]:
    yield from _wrapped(f"  {click.style(clean(problem.get('code', '')), fg='red')} ", clean(problem.get("what", "")))
    for key in ("position", "found", "wanted", "fix"):
        if problem.get(key):
            yield from _wrapped(f"    {key.capitalize() + ':':<10}", clean(problem[key]))


def _instances(instances: list[dict[str, Any]]) -> Iterator[str]:
    if not instances:
        return
    header = ["HOST", "STATE", "PID", "SINCE", "ONLINE"]
    rows = [
        [
            clean(one["host"]),
            render.coloured(one["state"]) if one["state"] != "standby" else "standby",
            str(one["pid"] or "-"),
            render.age(one["since_ms"]),
            "yes" if one["online"] else "no",
        ]
        for one in instances
    ]
    yield textwrap.indent(table(header, rows).rstrip(), "  ")
