"""`replicator task apply`: creates or changes tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click

from replicator.cli import failures
from replicator.cli.task import prune as pruned
from replicator.cli.task.client import Client
from replicator.cli.task.options import reason_option, with_client
from replicator.cli.task.prune import Pruning, prune_options
from replicator.cli.task.selection import for_each
from replicator.cli.task.task_files import Refused, TaskFile, read_tasks
from replicator.cli.terminal import clean
from replicator.config.labels import Selector
from replicator.config.load import parse_task, to_data
from replicator.config.table_choice import added, choice_of
from replicator.config.task import TaskConfig
from replicator.errors import ConfigError


@click.command("apply")
@click.option(
    "-f",
    "--file",
    "paths",
    required=True,
    multiple=True,
    metavar="PATH",
    help=(
        "YAML or JSON file, also with several YAML documents; a directory: its .yaml, .yml and .json files; - reads "
        "standard input. May be repeated."
    ),
)
@click.option("--dry-run", is_flag=True, help="Check everything and show the changes, but write nothing.")
@prune_options
@reason_option
@with_client
def command(
    paths: tuple[str, ...],
    dry_run: bool,
    prune: bool,
    selector: Selector,
    applied_set: str,
    yes: bool,
    no_input: bool,
    reason: str,
    client: Client,
) -> None:
    """Create the tasks that the files describe, or change them to match.

    All files are validated before the first task is sent. Then prints `NAME created`, `NAME configured` or `NAME
    unchanged` for each task; an error of one task does not prevent the others. A change reaches a running task at a
    transaction boundary, without a restart.

    --prune deletes tasks that were applied before and are no longer in the files: only those with the label of
    --applied-set, or that --selector matches; in a terminal their list must be confirmed, elsewhere -y is required.
    Nothing is deleted if a task could not be applied, or if all covered tasks would be deleted.
    """
    pruning = Pruning(prune, selector, applied_set, yes or dry_run, no_input)
    tasks, refused = read_tasks(paths)
    pruned.check(pruning, tasks)
    tasks = [pruned.labelled(task, applied_set) for task in tasks]
    refused += _misfits(tasks)
    if refused:
        _refuse(refused, len(tasks))
    superfluous = pruned.condemned(client, pruning, tasks) if prune else []
    pruned.confirm(superfluous, pruning, client.server)
    by_name = {task.config.name: task for task in tasks}

    def apply(name: str) -> None:
        outcome = _apply(client, by_name[name], dry_run, reason)
        click.echo(f"{clean(name)} {outcome}{' (dry run)' if dry_run else ''}")

    for_each(list(by_name), apply)
    pruned.prune(client, superfluous, pruning, dry_run=dry_run, reason=reason)


def _refuse(refused: Sequence[Refused], tasks: int) -> None:
    """Raises the error of the only task; of several all are shown."""
    if len(refused) == 1 and tasks <= 1:
        raise refused[0].error
    for one in refused:
        failures.show(one.error, of=one.label)
    click.echo("No task was applied.", err=True)
    click.get_current_context().exit(failures.ERROR)


def _misfits(tasks: Sequence[TaskFile]) -> list[Refused]:
    """Tasks that do not fit the tables of their sources."""
    found = []
    for task in tasks:
        label = clean(task.config.name) if len(tasks) > 1 else ""
        try:
            _refuse_misfits(task.config, label)
        except ConfigError as error:
            found.append(Refused(task.label, error))
            continue
        _warn_of_names(task.config, label)
    return found


def _refuse_misfits(config: TaskConfig, label: str) -> None:
    """Transforms that do not fit the source's tables. Where the source or its password can't be had from here, the
    task finds out by itself, with the first row."""
    from replicator.assembly.task_checks import check_transforms

    found = check_transforms(config)
    if found is None:
        _say(label, "transforms: not checked, because the source can't be reached from here")
    for finding in found or ():
        if finding.severity == "fail" and finding.id != "transforms.keys":
            raise ConfigError("E1011", finding.found, wanted=finding.wanted, fix=finding.fix)
        if finding.severity == "warn":
            _say(label, f"warning: {clean(finding.found)}; wanted: {clean(finding.wanted)}")


def _warn_of_names(config: TaskConfig, label: str) -> None:
    """Tables that a snapshot names may be created later, so they are not refused. The task says so, too."""
    from replicator.assembly.snapshot_checks import check_names

    for finding in check_names(config) or ():
        _say(label, f"warning: {clean(finding.found)}; {clean(finding.fix)}")


def _say(label: str, text: str) -> None:
    click.echo(f"{label}: {text}" if label else text, err=True)


def _apply(client: Client, task: TaskFile, dry_run: bool, reason: str) -> str:
    config = task.config
    present = client.find(config.name)
    if present is None:
        client.create(task.text, dry_run, reason)
        return "created"
    old = present["config"]
    if old is not None and _same(old, config):
        return "unchanged"
    for line in _differences(old or {}, to_data(config)):
        click.echo(line, err=True)
    for line in _snapshots(present, config):
        click.echo(line, err=True)
    client.replace(config.name, task.text, present["version"], dry_run, reason)
    return "configured"


def _same(old: dict[str, Any], config: TaskConfig) -> bool:
    """An older version may have written fewer defaults out."""
    try:
        return parse_task(old) == config
    except ConfigError:
        return False


def _snapshots(present: dict[str, Any], config: TaskConfig) -> Iterator[str]:
    """What the change means for rows that exist. A task without a position begins with all tables."""
    try:
        patterns = added(choice_of(parse_task(present["config"] or {}).source), config.source)
    except ConfigError:
        return
    if patterns and present["position"]:
        yield f"  snapshot: the rows of tables that {clean(', '.join(patterns))} adds will be delivered"


def _flat(value: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(inner, f"{prefix}.{key}" if prefix else str(key))
    else:
        yield prefix, value


def _differences(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    """`  source.port: 3306 -> 3307`, one line per key."""
    before, after = dict(_flat(old)), dict(_flat(new))
    for key in [*after, *(key for key in before if key not in after)]:
        if before.get(key) != after.get(key):
            yield f"  {clean(key)}: {clean(before.get(key, '(none)'))} -> {clean(after.get(key, '(none)'))}"
