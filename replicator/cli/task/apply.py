"""`replicator task apply`: creates or changes a task."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from replicator.cli.task.client import Client
from replicator.cli.task.options import with_client
from replicator.cli.terminal import clean
from replicator.config.load import load_task, parse_task, to_data
from replicator.config.table_choice import added, choice_of
from replicator.config.task import TaskConfig
from replicator.config.text import MAX_BYTES
from replicator.errors import ConfigError


@click.command("apply")
@click.option("-f", "--file", "path", required=True, help="YAML or JSON file; - reads standard input.")
@click.option("--dry-run", is_flag=True, help="Check everything and show the changes, but write nothing.")
@with_client
def command(path: str, dry_run: bool, client: Client) -> None:
    """Create the task that FILE describes, or change it to match FILE.

    Prints `NAME created`, `NAME configured` or `NAME unchanged`. A change reaches the running task at a transaction
    boundary, without a restart.
    """
    text = _read(path)
    config = load_task(text)
    _refuse_misfits(config)
    _warn_of_names(config)
    outcome = _apply(client, text, config, dry_run)
    click.echo(f"{clean(config.name)} {outcome}{' (dry run)' if dry_run else ''}")


def _refuse_misfits(config: TaskConfig) -> None:
    """Transforms that do not fit the source's tables. Where the source or its password can't be had from here, the
    task finds out by itself, with the first row."""
    from replicator.assembly.task_checks import check_transforms

    found = check_transforms(config)
    if found is None:
        click.echo("transforms: not checked, because the source can't be reached from here", err=True)
    for finding in found or ():
        if finding.severity == "fail" and finding.id != "transforms.keys":
            raise ConfigError("E1011", finding.found, wanted=finding.wanted, fix=finding.fix)
        if finding.severity == "warn":
            click.echo(f"warning: {clean(finding.found)}; wanted: {clean(finding.wanted)}", err=True)


def _warn_of_names(config: TaskConfig) -> None:
    """Tables that a snapshot names may be created later, so they are not refused. The task says so, too."""
    from replicator.assembly.snapshot_checks import check_names

    for finding in check_names(config) or ():
        click.echo(f"warning: {clean(finding.found)}; {clean(finding.fix)}", err=True)


def _read(path: str) -> bytes:
    try:
        if path == "-":
            return sys.stdin.buffer.read(MAX_BYTES + 1)
        with Path(path).open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError("E1014", f"{path} can't be read", found=error.strerror or str(error)) from None


def _apply(client: Client, text: bytes, config: TaskConfig, dry_run: bool) -> str:
    present = client.find(config.name)
    if present is None:
        client.create(text, dry_run)
        return "created"
    old = present["config"]
    if old is not None and _same(old, config):
        return "unchanged"
    for line in _differences(old or {}, to_data(config)):
        click.echo(line, err=True)
    for line in _snapshots(present, config):
        click.echo(line, err=True)
    client.replace(config.name, text, present["version"], dry_run)
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
