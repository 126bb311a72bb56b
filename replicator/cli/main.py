"""The `replicator` command. Its subcommands are modules of this package; each process (core, server, monitor) registers
its subcommand as an entry point of the group `replicator.commands`."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from replicator.cli import failures
from replicator.cli.lazy import LazyGroup, Load
from replicator.cli.terminal import wants_colour
from replicator.errors import ProcessError, ReplicatorError

if TYPE_CHECKING:
    from replicator.assembly.table_definitions import TableDefinitions
    from replicator.pipeline.ports import HistoryStore

LAZY = {
    "task": ("Create, monitor and control tasks.", "replicator.cli.task"),
    "token": ("Create, list and revoke tokens of the Server.", "replicator.cli.access.token"),
    "user": ("Create, list and remove users of Server and Monitor.", "replicator.cli.access.user"),
    "audit": ("Show who changed what, and what was refused.", "replicator.cli.access.audit"),
    "config": ("Manage contexts: named Servers with their tokens.", "replicator.cli.config"),
    "machines": ("List the machines: state, tasks, vitals.", "replicator.cli.machines"),
    "machine": ("Show, expect and drain machines.", "replicator.cli.machine"),
    "agent": ("Report the vitals of a host without a Core.", "replicator.cli.agent"),
    "group": ("Show groups of Cores and spread their tasks.", "replicator.cli.group"),
    "source": ("Lock a source while it is changed.", "replicator.cli.source"),
    "ddns": ("Manage names for addresses of servers.", "replicator.cli.ddns"),
    "top": ("Show tasks live, tasks with problems first.", "replicator.cli.top"),
    "alert": ("Show and silence alerts, and test their routes.", "replicator.cli.alert"),
    "bundle": ("Collect what support needs into a file.", "replicator.cli.bundle"),
    "lock": ("Run commands under locks in ZooKeeper.", "replicator.cli.lock"),
    "barrier": ("Wait for other processes.", "replicator.cli.barrier"),
    "queue": ("Put items into queues and take them out.", "replicator.cli.queue"),
    "id": ("Print ids that are unique in the cluster.", "replicator.cli.id"),
    "cluster": ("Manage the state of all tasks in ZooKeeper.", "replicator.cli.cluster"),
    "check": ("Check whether a task can run.", "replicator.cli.check"),
    "verify": ("Compare the rows of source and target.", "replicator.cli.verify"),
    "run": ("Run one task in this process, without ZooKeeper.", "replicator.cli.run"),
    "explain": ("Explain a configuration key or an error code.", "replicator.cli.explain"),
    "docs": ("Print a page of the documentation.", "replicator.cli.docs"),
    "schema": ("Print the JSON Schema of a task.", "replicator.cli.schema"),
    "completion": ("Print the shell completion script.", "replicator.cli.completion"),
    "version": ("Print versions.", "replicator.cli.version"),
}


MEANINGS = {
    "tasks": "task get",
    "nodes": "machines",
    "groups": "group get",
    "alerts": "alert ls",
    "silence": "alert silence",
    "drain": "machine drain",
    "undrain": "machine undrain",
    "rebalance": "group rebalance",
    "pin": "task pin",
    "move": "task move",
    "hosts": "machines",
    "workers": "machines",
    "address": "ddns",
    "addresses": "ddns ls",
    "dns": "ddns",
    "doctor": "check",
    "validate": "check",
    "compare": "verify",
    "diff": "verify",
}
_OF_TASK = [
    "get",
    "list",
    "ls",
    "ps",
    "describe",
    "status",
    "show",
    "apply",
    "create",
    "delete",
    "rm",
    "pause",
    "stop",
    "resume",
    "retry",
    "switchover",
    "failover",
    "history",
    "position",
    "skip",
    "quarantine",
    "snapshot",
    "wait",
]


def _meanings() -> dict[str, str]:
    """Commands of tasks that were typed without `task`."""
    from replicator.cli.task import MEANINGS as OF_TASK

    return {word: f"task {OF_TASK.get(word, word)}" for word in _OF_TASK} | MEANINGS


def open_table_definitions(store: HistoryStore, *, mariadb: bool) -> TableDefinitions:
    """For the Server, which imports no part of the data path. Imported at the first call: it takes as long to load as
    the Server does."""
    from replicator.assembly.table_definitions import TableDefinitions

    return TableDefinitions(store, mariadb=mariadb)


def _processes() -> Mapping[str, Load]:
    return {point.name: point.load for point in entry_points(group="replicator.commands")}


class Main(LazyGroup):
    """Turns every end into an exit status: no command prints a traceback or exits by itself for an error."""

    colour: bool | None = None
    """What --color decided; errors are shown when click's context, which knows it too, is gone."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        run = partial(super().main, args, prog_name, complete_var, False, **extra)
        if not standalone_mode:
            return run()
        try:
            result: Any = run()
            sys.stdout.flush()
            status = result if isinstance(result, int) else 0
        except (click.Abort, KeyboardInterrupt):
            status = failures.INTERRUPTED
        except click.ClickException as error:
            error.show()
            status = error.exit_code
        except ReplicatorError as error:
            _trace()
            failures.show(error, self.colour)
            status = failures.exit_status(error)
        except OSError as error:
            status = _reader_gone() if error.errno == errno.EPIPE else self._fault(error)
        except Exception as error:
            status = self._fault(error)
        sys.exit(status)

    def _fault(self, error: Exception) -> int:
        """An error that nobody foresaw."""
        _trace()
        fix = "Run it again with `replicator --debug ...` and report the output."
        if isinstance(error, OSError) and error.errno in {errno.EMFILE, errno.ENFILE}:
            fix = "Raise the limit of open files: LimitNOFILE= in the unit of the process, or `ulimit -n`."
        failures.show(ProcessError("E5011", f"{type(error).__name__}: {error}"[:300], fix=fix), self.colour)
        return failures.ERROR

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except OSError as error:
            # before click makes exit status 1 of it
            if error.errno == errno.EPIPE:
                sys.exit(_reader_gone())
            raise


def _reader_gone() -> int:
    """`replicator task get | head -1`: nobody reads any more. Python must not complain about it at exit either."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return failures.BROKEN_PIPE


def _trace() -> None:
    if os.environ.get("REPLICATOR_DEBUG"):
        traceback.print_exc()


def _set_colour(ctx: click.Context, _param: click.Parameter, value: str) -> None:
    ctx.color = wants_colour(value)
    if isinstance(ctx.command, Main):
        ctx.command.colour = ctx.color


def _use_context(_ctx: click.Context, _param: click.Parameter, value: str | None) -> None:
    if value is None:
        return
    if not value:
        raise click.BadParameter("The name of the context is empty.")
    os.environ["REPLICATOR_CONTEXT"] = value


def _complete_context(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from replicator.cli.config import complete_context

    return complete_context(ctx, param, incomplete)


def _show_version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from replicator.cli.version import command

        ctx.invoke(command, output="text")
        ctx.exit()


@click.group(
    "replicator",
    cls=Main,
    lazy=LAZY,
    more=_processes,
    meanings=_meanings(),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option("-v", "--debug", is_flag=True, help="Show tracebacks of errors (or REPLICATOR_DEBUG=1).")
@click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    callback=_set_colour,
    expose_value=False,
    is_eager=True,
    help="When to use colour; NO_COLOR and FORCE_COLOR also apply.",
)
@click.option(
    "--context",
    metavar="NAME",
    callback=_use_context,
    expose_value=False,
    is_eager=True,
    shell_complete=_complete_context,
    help="Context to use instead of the current one (or REPLICATOR_CONTEXT); see `replicator config`.",
)
@click.option(
    "--version",
    is_flag=True,
    callback=_show_version,
    expose_value=False,
    is_eager=True,
    help="Print versions and exit.",
)
@click.pass_context
def main(ctx: click.Context, debug: bool) -> None:
    """mysql-replicator: replicates changes of MySQL and MariaDB to Kafka, with standbys that take over without losing a
    row."""
    if debug:
        os.environ["REPLICATOR_DEBUG"] = "1"
    ctx.obj = open_table_definitions


if __name__ == "__main__":
    main()
