"""`replicator check`: checks whether a task can run."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec

from replicator.assembly.task_checks import check_task
from replicator.cli import check_via_core, host_options, options
from replicator.cli.address_types import ZOOKEEPER
from replicator.cli.ddns.resolution import with_addresses
from replicator.cli.failures import CHECK_FAILED, CHECK_WARNED
from replicator.cli.task.client import Client, find_token
from replicator.cli.task.completion import complete_task
from replicator.cli.task.options import server_options, timeout_option
from replicator.cli.terminal import cells, clean, width
from replicator.config.load import load_task
from replicator.config.task import TaskConfig
from replicator.coordination.layout import DEFAULT_ROOT
from replicator.errors import ConfigError
from replicator.host import access
from replicator.model.decoding import converted
from replicator.model.finding import Finding, worst
from replicator.model.position import Position

_STATUS = {"ok": 0, "warn": CHECK_WARNED, "fail": CHECK_FAILED}
_COLOUR = {"ok": "green", "warn": "yellow", "fail": "red"}
_NARROWEST = 40


@click.command("check", short_help="Check whether a task can run.")
@click.argument("name", required=False, shell_complete=complete_task)
@click.option("--via-core", is_flag=True, help="Let the Core that leads the task NAME check it.")
@timeout_option(150)
@server_options
@click.option("-f", "--file", "path", type=click.Path(dir_okay=False, path_type=Path), help="Task file.")
@click.option("--security", is_flag=True, help="Check rights, logins and TLS of the bus instead of a task.")
@click.option(
    "--zookeeper",
    type=ZOOKEEPER,
    envvar="REPLICATOR_ZOOKEEPER",
    show_envvar=True,
    help="Check this ZooKeeper ensemble, too.",
)
@click.option("--root", default=DEFAULT_ROOT, show_default=True, help="Root znode of the bus.")
@click.option(
    "--session-timeout",
    type=click.FloatRange(min=0.1),
    default=10.0,
    show_default=True,
    help="Session timeout in seconds.",
)
@click.option(
    "--position",
    "place",
    metavar="FILE:OFFSET",
    default="",
    help="Check this place of the binlog, before `task position set`, instead of the task's own position.",
)
@options.zookeeper_access
@host_options.host_access("the current directory, as for `replicator run`")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
def command(
    name: str | None,
    via_core: bool,
    timeout: float,
    server: str,
    token_file: Path | None,
    path: Path | None,
    security: bool,
    zookeeper: str | None,
    root: str,
    session_timeout: float,
    place: str,
    output: str,
) -> int:
    """Check the source, the sink and ZooKeeper for the task in FILE. Nothing is changed.

    NAME --via-core checks source and sink of a task of the bus from the host of the Core that leads it, with its
    network and its secrets. The Core does so once a day by itself; the Monitor and `task describe` show the result.

    With --security, check instead who may read and change the bus: the ACL of each znode, TLS, secret files of this
    host, and the version of ZooKeeper. Use the login of an administrator.

    Each finding shows what was found and, unless it is ok, what is required and how to correct it. Exit status: 0 if
    all findings are ok, 10 with warnings, 11 if the task cannot run or would lose rows.
    """
    if via_core or name is not None:
        if name is None or not via_core or path is not None or security:
            raise click.UsageError("Give NAME and --via-core together, without -f and --security.")
        return _check_via_core(name, server, token_file, timeout, output)
    if security:
        return _check_security(zookeeper, root, session_timeout, output)
    if path is None:
        raise click.UsageError("Give -f FILE, or --security.")
    config = with_addresses(_read(path))
    access.default_file_sink_directory(Path.cwd())
    findings = check_task(config, zookeeper, root, session_timeout, _place(config, place) if place else None)
    return _show(config.name, findings, output, "can run", "can't run")


def _check_via_core(name: str, server: str, token_file: Path | None, timeout: float, output: str) -> int:
    with Client(server, find_token(token_file, server)) as client:
        found = check_via_core.ordered(client, name, timeout)
    findings = converted(found["findings"], list[Finding])
    return _show(name, findings, output, "can run", "can't run")


def _check_security(zookeeper: str | None, root: str, session_timeout: float, output: str) -> int:
    if zookeeper is None:
        raise click.UsageError("Give --zookeeper with --security.")
    from replicator.zookeeper.security_checks import check

    return _show(root, check(zookeeper, root, session_timeout), output, "is secured", "isn't secured")


def _show(name: str, findings: Sequence[Finding], output: str, well: str, ill: str) -> int:
    shown = _json(name, findings) if output == "json" else _table(name, findings, width(), well, ill)
    click.echo(shown, nl=False)
    return _STATUS[worst(list(findings))]


def _place(config: TaskConfig, text: str) -> Position:
    file, _, offset = text.rpartition(":")
    if config.source.type == "kafka":
        raise click.UsageError("--position is of a binlog, and the source of this task is topics.")
    if not (file and offset.isascii() and offset.isdigit() and 4 <= int(offset) < 1 << 63):
        raise click.UsageError(f"--position is FILE:OFFSET, for instance binlog.000042:4711, not {text!r}.")
    return Position(file, int(offset))


def _read(path: Path) -> TaskConfig:
    try:
        return load_task(path.read_bytes())
    except OSError as error:
        raise ConfigError("E1014", f"{path} can't be read", found=error.strerror or str(error)) from error


def _json(name: str, findings: Sequence[Finding]) -> str:
    document = {
        "apiVersion": "v1",
        "kind": "CheckResult",
        "task": name,
        "result": worst(list(findings)),
        "findings": msgspec.to_builtins(findings),
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _table(
    name: str, findings: Sequence[Finding], limit: int | None, well: str = "can run", ill: str = "can't run"
) -> str:
    """A line per finding, and below it what is wanted and how to get there. `limit`: columns; None: nothing is wrapped,
    so that a pipe gets each of them on one line."""
    longest = max((cells(finding.id) for finding in findings), default=0)
    lines: list[str] = []
    for finding in findings:
        lines += _finding(finding, longest, limit)
    result = worst(list(findings))
    counts = [f"{sum(f.severity == kind for f in findings)} {kind}" for kind in ("ok", "warn", "fail")]
    verdict = {"ok": well, "warn": f"{well}, with the risks above", "fail": ill}[result]
    summary = f"{clean(name)} {verdict}: {', '.join(counts)}"
    return "\n".join([*lines, click.style(summary, fg=_COLOUR[result], bold=True)]) + "\n"


def _finding(finding: Finding, longest: int, limit: int | None) -> list[str]:
    word = f"{finding.severity.upper():4}"
    label = clean(finding.id)
    parts = [("", finding.found)]
    if finding.severity != "ok":
        parts += [("wanted: ", finding.wanted), ("fix: ", finding.fix)]
    narrow = limit is not None and limit < longest + _NARROWEST
    head = f"{word}  {label}" if narrow else f"{word}  {label.ljust(longest)}  "
    indent = " " * (6 if narrow else longest + 8)
    lines = [head] if narrow else []
    for name, text in parts:
        if text:
            lines += _wrapped(name + clean(text), indent, limit)
    if not narrow:
        lines[0] = head + lines[0][len(indent) :]
    lines[0] = click.style(word, fg=_COLOUR[finding.severity], bold=True) + lines[0][len(word) :]
    return lines


def _wrapped(text: str, indent: str, limit: int | None) -> list[str]:
    if limit is None:
        return [indent + text]
    return textwrap.wrap(
        text, max(limit, len(indent) + 20), initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )
