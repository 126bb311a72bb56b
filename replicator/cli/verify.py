"""`replicator verify`: compares the rows of a task's source with those of its target."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple

import click

from replicator.assembly.verification import open_verification
from replicator.cli import failures, host_options
from replicator.cli.ddns.resolution import with_addresses
from replicator.cli.loading import loading
from replicator.cli.task.client import Client, find_token
from replicator.cli.task.options import server_options
from replicator.cli.terminal import width
from replicator.cli.verify_continuous import ROWS_PER_S, Rounds, stopped_by_signals
from replicator.cli.verify_output import NoLine, ProgressLine, document, line, text
from replicator.cli.verify_report import Reporter
from replicator.cli.verify_topics import refuse_options, verify_topics
from replicator.config import sealed
from replicator.config.load import load_task, parse_task
from replicator.config.task import KafkaSink, TaskConfig
from replicator.coordination.clock import now_ms
from replicator.errors import ConfigError, ProcessError, ReplicatorError
from replicator.host import access
from replicator.model.verification import Result
from replicator.verify.report import TableResult, overall
from replicator.verify.verifier import Options

EQUAL, DIFFERS, NO_VERDICT = 0, 1, 2
_STATUS: Final[dict[Result, int]] = {"equal": EQUAL, "differs": DIFFERS, "undecided": NO_VERDICT, "error": NO_VERDICT}


@click.command("verify", short_help="Compare the rows of source and target.")
@click.argument("name", required=False)
@click.option("-f", "--file", "path", type=click.Path(dir_okay=False, path_type=Path), help="Task file.")
@click.option(
    "--table", "tables", multiple=True, metavar="PATTERN", help="Compare these tables of the source; repeatable."
)
@click.option(
    "--max-rows-per-s", type=click.IntRange(1), help="Maximum number of rows to read per second; default: no limit."
)
@click.option(
    "--checksums",
    type=click.Choice(["client", "server"]),
    default="client",
    show_default=True,
    help="Read all rows, or let both servers compute checksums and read the rows of chunks that differ.",
)
@click.option(
    "--state",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File with the progress: an interrupted verification continues with it.",
)
@click.option(
    "--wait",
    type=click.FloatRange(0),
    default=60.0,
    show_default=True,
    help="Seconds to wait for the target to pass the source's position, if rows differ.",
)
@click.option(
    "--max-differences",
    type=click.IntRange(1),
    default=100_000,
    show_default=True,
    help="Continue with the next table after this number of differences.",
)
@click.option("--repair", is_flag=True, help="Write the rows that differ to the target.")
@click.option("--dry-run", is_flag=True, help="With --repair: execute it and roll it back.")
@click.option(
    "--max-repairs",
    type=click.IntRange(1),
    default=1_000,
    show_default=True,
    help="With --repair: write nothing to a table if more rows differ, in all tables so far.",
)
@click.option(
    "--complete",
    is_flag=True,
    help="Topics: rows that have no record are missing, also if the task began after them.",
)
@click.option("--continuous", is_flag=True, help="Verify again and again, and print what changes, until a signal.")
@click.option(
    "--pause",
    type=click.FloatRange(0),
    default=60.0,
    show_default=True,
    help="With --continuous: seconds from the end of a round to the next one.",
)
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
@host_options.host_access("the current directory, as for `replicator run`")
@server_options
def command(
    name: str | None,
    path: Path | None,
    tables: tuple[str, ...],
    max_rows_per_s: int | None,
    checksums: str,
    state: Path | None,
    wait: float,
    max_differences: int,
    repair: bool,
    dry_run: bool,
    max_repairs: int,
    complete: bool,
    continuous: bool,
    pause: float,
    output: str,
    server: str,
    token_file: Path | None,
) -> int:
    """Compare the rows of the source with those of the target, for the task in FILE or the task NAME of the Server.

    Of a sink of type kafka, the rows are those that the records of the topics leave behind. Nothing is changed without
    --repair. The task may run meanwhile: rows that differ
    are read again after the target has passed the position of the source, until a difference is certain. Exit status: 0
    if all tables are equal, or were repaired, 1 if rows or definitions differ, 2 if there is no verdict.
    """
    if (name is None) == (path is None):
        raise click.UsageError("give NAME or --file")
    if dry_run and not repair:
        raise click.UsageError("--dry-run requires --repair")
    if repair and state is not None:
        raise click.UsageError("--repair can't be combined with --state")
    if repair and continuous:
        raise click.UsageError("--repair can't be combined with --continuous")
    rate = max_rows_per_s or (ROWS_PER_S if continuous else None)
    options = Options(rate, checksums == "server", max_differences, max_repairs=max_repairs, complete=complete)

    def once() -> tuple[TaskConfig, list[TableResult]]:
        with ExitStack() as opened:
            reporter: Reporter | None = None
            with loading():
                if path is None:
                    config, reporter = _named(opened, name or "", server, token_file, whole=not tables)
                else:
                    config = with_addresses(_read(path), server, token_file)
                access.default_file_sink_directory(Path.cwd())
            began_ms = now_ms()
            repairing = _Repairing(reporter, dry_run) if repair else None
            if isinstance(config.sink, KafkaSink):
                refuse_options(name, repair=repair, checksums=options.checksums)
                results = verify_topics(config, config.sink, tables, options, wait, state, reporter)
            else:
                results = _verify(config, tables, options, wait, state, repairing)
            if reporter is not None:
                reporter.report(results, began_ms)
            return config, results

    try:
        if continuous:
            return _continuous(once, pause, output)
        config, results = once()
        result = overall(results)
        click.echo(document(config.name, result, results) if output == "json" else text(results, width()), nl=False)
        return _STATUS[result]
    except ReplicatorError as error:
        failures.show(error)
    except OSError as error:
        failures.show(ProcessError("E5011", f"{type(error).__name__}: {error}"[:300]))
    except (click.ClickException, click.Abort):
        raise
    except Exception as error:  # status 1 would mean that rows differ
        traceback.print_exc()
        failures.show(ProcessError("E5011", f"{type(error).__name__}: {error}"[:300]))
    return NO_VERDICT


def _continuous(once: Callable[[], tuple[TaskConfig, list[TableResult]]], pause: float, output: str) -> int:
    """The exit status is that of the last complete round. Each round reads the configuration again."""
    name = ""

    def verified() -> list[TableResult]:
        nonlocal name
        config, results = once()
        name = config.name
        return results

    def show(changed: Sequence[TableResult]) -> None:
        made = line(name, overall(changed), changed) if output == "json" else text(changed, width())
        click.echo(made, nl=False)
        sys.stdout.flush()

    rounds = Rounds(verified, show, failures.show, pause)
    with stopped_by_signals():
        rounds.run()
    return NO_VERDICT if rounds.latest is None else _STATUS[overall(rounds.latest)]


class _Repairing(NamedTuple):
    """`reporter`: None for a task of a file."""

    reporter: Reporter | None
    dry_run: bool


def _verify(
    config: TaskConfig,
    tables: tuple[str, ...],
    options: Options,
    wait: float,
    state: Path | None,
    repairing: _Repairing | None,
) -> list[TableResult]:
    with open_verification(config, tables) as verification:
        repair = None
        if repairing is not None:
            _refuse_unsafe(config)
            known = repairing.reporter
            guard = known.guard if known is not None else _nothing
            repair = verification.repair(known.uid if known else "", guard, dry_run=repairing.dry_run)
        expected = sum(each.rows for each in verification.tables if not each.skipped)
        with ProgressLine(expected) if sys.stderr.isatty() else NoLine() as shown:
            return verification.verifier(options, wait, state, shown, repair).run(verification.tables)


def _nothing(table: str) -> None:
    """Of a task in a file there is no more to know."""


def _refuse_unsafe(config: TaskConfig) -> None:
    """Tasks whose position row does not tell what rows the target has. A table that is left out has a position that is
    not the task's, and may become one at any time. In both directions a row may be newer at the target."""
    found = ""
    if config.database.on_table_error == "quarantine":
        found, wanted = "source.on_table_error: quarantine", "source.on_table_error: fail during the repair"
    elif config.database.skip_replicated != "none":
        found, wanted = (
            "source.skip_replicated",
            "a target that this task alone writes",
        )
    if found:
        raise ProcessError("E5041", f"rows of '{config.name}' can't be repaired safely", found=found, wanted=wanted)


def _read(path: Path) -> TaskConfig:
    try:
        return load_task(path.read_bytes())
    except OSError as error:
        raise ConfigError("E1014", f"{path} can't be read", found=error.strerror or str(error)) from error


def _named(
    opened: ExitStack, name: str, server: str, token_file: Path | None, *, whole: bool
) -> tuple[TaskConfig, Reporter]:
    client = opened.enter_context(Client(server, find_token(token_file, server)))
    task = client.task(name)
    config = task["config"]
    if config is None:
        raise ProcessError(
            "E5032",
            f"the configuration of '{name}' can't be read",
            wanted="a task of this version",
            fix="Use the version of mysql-replicator that the Server has.",
        )
    sealed.bind(config, client.cluster()["installation"])
    reporter = Reporter(client, name, task["uid"], task["version"], whole=whole)
    return with_addresses(parse_task(json.loads(json.dumps(config))), server, token_file), reporter
