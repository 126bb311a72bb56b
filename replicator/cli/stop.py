"""`replicator core stop` and the same of the other processes: stop one of this host and wait until it has ended."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from replicator.cli.address_types import ZOOKEEPER
from replicator.errors import ProcessError
from replicator.host.addresses import parse_ensemble
from replicator.host.process_record import root_of

if TYPE_CHECKING:
    from replicator.host.running_process import RunningProcess

DEFAULT_TIMEOUT = 60.0
"""A Core that drains right after an outage of Kafka takes up to 50 s."""

pid_file_option = click.option(
    "--pid-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File for the process id, by which `stop` finds the process; default: in ~/.local/state/mysql-replicator/run.",
)


class ProcessCommand(click.Group):
    """A command that runs a process when it is called without a subcommand."""

    def __init__(self, *args: Any, callback: Callable[..., Any], **kwargs: Any) -> None:
        def run(*given: Any, **options: Any) -> Any:
            if click.get_current_context().invoked_subcommand is None:
                return callback(*given, **options)
            return None

        kwargs["subcommand_metavar"] = "[stop ...]"
        kwargs["invoke_without_command"] = True
        super().__init__(*args, callback=run, **kwargs)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or args[0] not in self.commands:
            return super().parse_args(ctx, args)
        # What the process needs is not needed by its subcommands.
        before, ctx.resilient_parsing = ctx.resilient_parsing, True
        try:
            return super().parse_args(ctx, args)
        finally:
            ctx.resilient_parsing = before

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        found = super().resolve_command(ctx, args)
        given = [name for name in ctx.params if ctx.get_parameter_source(name) is _COMMANDLINE]
        if given and not ctx.resilient_parsing:
            what = f"--{given[0].replace('_', '-')} comes before {args[0]!r}: give the options of {args[0]!r} after it."
            raise click.UsageError(what, ctx)
        return found


_COMMANDLINE = click.core.ParameterSource.COMMANDLINE


def add_stop(kind: str, *, named: bool) -> Callable[[ProcessCommand], ProcessCommand]:
    """Adds the subcommand `stop`. named: whether processes of the kind have a --host."""

    def add(group: ProcessCommand) -> ProcessCommand:
        group.add_command(_stop(kind, named=named))
        return group

    return add


def _stop(kind: str, *, named: bool) -> click.Command:
    title = kind.capitalize()
    what = "It hands over its tasks first." if kind == "core" else ""

    def run(pid_file: Path | None, zookeeper: str | None, root: str | None, pid: int | None, **more: Any) -> int:
        wanted = _Wanted(kind, pid_file, more.get("host"), zookeeper, root, pid)
        return stop(wanted, more["timeout"])

    options = [
        click.option(
            "--timeout",
            type=click.FloatRange(0, 86400),
            default=DEFAULT_TIMEOUT,
            show_default=True,
            help="Seconds to wait; exit status 7 if it has not ended by then. It is not killed.",
        ),
        click.option("--pid", type=click.IntRange(1), help=f"Only the {title} with this process id."),
        click.option("--root", help=f"Only a {title} with this root znode."),
        click.option(
            "--zookeeper",
            type=ZOOKEEPER,
            envvar="REPLICATOR_ZOOKEEPER",
            show_envvar=True,
            help=f"Only a {title} of this ensemble.",
        ),
        click.option(
            "--pid-file",
            type=click.Path(dir_okay=False, path_type=Path),
            help=f"The file that the {title} was started with.",
        ),
    ]
    if named:
        options.append(click.option("--host", metavar="NAME", help=f"Only the {title} with this name."))
    for option in options:
        run = option(run)
    return click.command(
        "stop",
        short_help=f"Stop a {title} of this host.",
        help=f"""Stop a {title} that runs on this host under this user, and wait until it has ended. {what}

        It is found by its pid file, which the process keeps locked: no other process is signalled. If several are
        found, none is stopped: choose with the options below.

        Exit status: 0 if it has ended, 1 if it ended by an error, 3 if none runs, 4 if there are several or a service
        manager would start it again, 7 if it still runs after --timeout. A second call only waits.""",
    )(run)


class _Wanted:
    def __init__(
        self, kind: str, file: Path | None, host: str | None, zookeeper: str | None, root: str | None, pid: int | None
    ) -> None:
        self.kind = kind
        self.file = file
        self._host = host
        self._zookeeper = parse_ensemble(zookeeper).key if zookeeper else None
        self._root = root_of(root) if root is not None else None
        self._pid = pid

    def find(self) -> RunningProcess:
        """Raises ProcessError E5050: none, E5053: several."""
        from replicator.host import pid_file, running_process

        if self.file is not None:
            one = running_process.find(self.file)
            found = [] if one is None else [one]
        else:
            found = running_process.in_folder(pid_file.default_folder(), self.kind)
        fitting = [process for process in found if self._fits(process)]
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            raise ProcessError(
                "E5053",
                f"{len(fitting)} processes of this kind run here, and none was stopped",
                found="; ".join(str(process.record) for process in fitting),
                wanted="one",
                fix=f"Name one: `replicator {self.kind} stop --pid {fitting[0].record.pid}`.",
            )
        where = f"the pid file {self.file}" if self.file is not None else str(pid_file.default_folder())
        others = "; ".join(str(process.record) for process in found)
        raise ProcessError(
            "E5050",
            f"no running {self.kind} was found by {where}",
            found=f"others: {others}" if others else "",
            fix=_OTHERS if others else "",
        )

    def _fits(self, process: RunningProcess) -> bool:
        record = process.record
        return (
            record.kind == self.kind
            and self._host in (None, record.host)
            and self._zookeeper in (None, record.zookeeper)
            and self._root in (None, record.root)
            and self._pid in (None, record.pid)
        )


_OTHERS = "Correct --host, --zookeeper (or REPLICATOR_ZOOKEEPER), --root and --pid: they select among these processes."


def stop(wanted: _Wanted, timeout: float) -> int:
    process = wanted.find()
    record = process.record
    if record.service:
        raise ProcessError(
            "E5054",
            f"{record} is a service of systemd, which may start it again",
            found=record.service,
            fix=f"Run `systemctl stop {record.service}`.",
        )
    click.echo(f"{record} is stopping", err=True)
    if not process.stop(timeout):
        raise ProcessError(
            "E5009",
            f"{record} has not ended within {timeout:g} s",
            fix=f"`replicator {record.kind} stop` waits on; kill -KILL {record.pid} ends it at once"
            + (", and what is not acknowledged yet is sent again." if record.kind == "core" else "."),
        )
    if not process.in_order:
        raise ProcessError("E5055", f"{record} has ended, but not in order")
    click.echo(f"{record.kind} {record.host or record.listen} stopped")
    return 0
