"""`replicator cluster restore`: writes a backup into ZooKeeper."""

from __future__ import annotations

import getpass
from collections.abc import Callable
from pathlib import Path

import click
import msgspec

from replicator.backup.archive import Backup
from replicator.backup.plan import Step, refuse
from replicator.backup.restore import Restore
from replicator.backup.task_restore import time_of
from replicator.cli import options
from replicator.cli.cluster.connection import connected
from replicator.cli.task.ask import confirmation_options, confirmed
from replicator.cli.terminal import clean
from replicator.coordination.layout import Layout
from replicator.errors import ProcessError


@click.command("restore", short_help="Write a backup into ZooKeeper.")
@click.argument("path", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path))
@options.zookeeper()
@click.option("--task", "tasks", multiple=True, metavar="NAME", help="Restore only this task; repeatable.")
@click.option("--overwrite", is_flag=True, help="Remove tasks of the backup that exist, and restore them.")
@click.option("--paused", is_flag=True, help="Leave the restored tasks paused.")
@click.option("--dry-run", is_flag=True, help="Show what would be done.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
@confirmation_options
def command(
    path: Path,
    zookeeper: str,
    root: str,
    session_timeout: float,
    tasks: tuple[str, ...],
    overwrite: bool,
    paused: bool,
    dry_run: bool,
    output: str,
    yes: bool,
    no_input: bool,
) -> None:
    """Write the tasks of FILE into ZooKeeper, with their positions and everything else that FILE has of them. Cores may
    run: they do not start a task before it is complete.

    A task continues at the position in its sink where the sink holds one (exactly_once, files, databases), else at the
    position in FILE: rows since then are sent again. Tasks that exist are refused unless --overwrite is given. If the
    command is interrupted, run it again. See `replicator docs operations`.
    """
    with Backup(path) as backup, connected(zookeeper, root, session_timeout) as coordinator:
        restore = Restore(coordinator, Layout(root), backup, _user(), paused=paused, report=_report(output))
        steps = restore.plan(tasks, overwrite=overwrite)
        if dry_run:
            click.echo(_shown(backup, steps, output), nl=False)
            return
        refuse(steps)
        replaced = [step.task for step in steps if step.action == "replace" and overwrite]
        if replaced and not yes:
            _ask(replaced, backup, no_input=no_input)
        done = restore.run(tasks, overwrite=overwrite)
        if coordinator.exists(Layout(root).maintenance()) is not None:
            click.echo(
                "maintenance is on, no task starts: `replicator task resume --maintenance --all` ends it", err=True
            )
        if output == "json":
            click.echo(_shown(backup, done, output), nl=False)


def _ask(tasks: list[str], backup: Backup, *, no_input: bool) -> None:
    click.echo("".join(f"{clean(task)}\n" for task in tasks), nl=False, err=True)
    when, count = time_of(backup.manifest.created_ms), f"{len(tasks)} task{'' if len(tasks) == 1 else 's'}"
    question = f"Replace the {count} above by their state of {when}?"
    if not confirmed(question, no_input=no_input, instead=f"Give -y to replace {count}."):
        raise ProcessError("E5007", "nothing was restored: not confirmed", fix="Answer y, or give -y.")


def _report(output: str) -> Callable[[str, str], None]:
    def said(task: str, note: str) -> None:
        if output == "text":
            click.echo(f"{clean(task)} restored{', ' + clean(note) if note else ''}")

    return said


def _shown(backup: Backup, steps: list[Step], output: str) -> str:
    if output == "json":
        fields = {
            "apiVersion": "v1",
            "kind": "Restore",
            "created": backup.manifest.created_ms,
            "installation": backup.manifest.installation,
            "steps": msgspec.to_builtins(steps),
        }
        return msgspec.json.format(msgspec.json.encode(fields), indent=2).decode() + "\n"
    lines = [f"backup of {backup.manifest.root}, {time_of(backup.manifest.created_ms)}"]
    lines += [f"{step.action}\t{clean(step.task)}{chr(9) + clean(step.why) if step.why else ''}" for step in steps]
    return "\n".join(lines) + "\n"


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
