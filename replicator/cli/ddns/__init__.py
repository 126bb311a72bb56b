"""`replicator ddns`: manages the address book: names for the host:port of servers."""

from __future__ import annotations

from typing import Any

import click
from click.shell_completion import CompletionItem

from replicator.cli.ddns.changes import watch_changes
from replicator.cli.lazy import SuggestingGroup
from replicator.cli.listing import fitted, show
from replicator.cli.task import render
from replicator.cli.task.ask import confirmation_options, confirmed
from replicator.cli.task.client import Client
from replicator.cli.task.completion import asked
from replicator.cli.task.options import interval_option, output_option, with_client
from replicator.cli.terminal import clean
from replicator.config.ddns import ROLES

HEADER = ("NAME", "ADDRESS", "ROLE", "PROBE", "TASKS", "CHANGED", "BY")
IMPORTANCE = ("NAME", "ADDRESS", "PROBE", "TASKS", "CHANGED", "ROLE", "BY")
_MEANINGS = {"list": "ls", "show": "get", "describe": "get", "rm": "delete", "remove": "delete", "put": "set"}
_MEANINGS |= {"create": "set", "update": "set"}


def _complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    items = asked(ctx, Client.addresses).get("items", ())
    return [CompletionItem(item["name"], help=item["address"]) for item in items if item["name"].startswith(incomplete)]


name_argument = click.argument("name", metavar="APP/DOMAIN", shell_complete=_complete)
version_option = click.option(
    "--version", type=click.IntRange(0), default=None, help="Only if this is still the version that `ddns get` shows."
)


@click.group("ddns", cls=SuggestingGroup, meanings=_MEANINGS)
def command() -> None:
    """Manage the address book: names for the host:port of database servers and brokers.

    A task with `address: ddns:APP/DOMAIN` connects to the address that the book has. When it changes, running tasks
    check the new server as in a fail-over and connect to it, or stay where they are and show the reason.
    """


@command.command("set")
@name_argument
@click.argument("address", metavar="HOST:PORT")
@click.option("--role", type=click.Choice(ROLES), default=None, help="Role of the server; default: as it is.")
@version_option
@click.option("--reason", default="", help="Recorded with the change.")
@with_client
def set_address(name: str, address: str, role: str | None, version: int | None, reason: str, client: Client) -> None:
    """Create or change an address. Requires the role admin.

    The tasks that use it check the new server first: `replicator ddns watch` shows when they have connected to it.
    """
    item = client.set_address(name, address, role, reason, version)
    tasks = f", used by {_tasks(item)}" if item["tasks"] else ""
    click.echo(f"{clean(item['name'])} is {clean(item['address'])} ({item['role']}){tasks}.", err=True)


@command.command("ls")
@output_option("table", "wide", "json", "yaml", "name")
@click.option("--no-headers", is_flag=True, help="Print no header line.")
@with_client
def ls(output: str, no_headers: bool, client: Client) -> None:
    """List the addresses, whether their servers answer, and the tasks that use them."""
    show(
        client.addresses(),
        output,
        lambda items: fitted(
            HEADER, [*map(_row, items)], IMPORTANCE, all_columns=output != "table", heading=not no_headers
        ),
        "The address book is empty. Set an address: replicator ddns set APP/DOMAIN HOST:PORT",
    )


@command.command("get")
@name_argument
@output_option("text", "json", "yaml")
@with_client
def get(name: str, output: str, client: Client) -> None:
    """Show an address: its server's state, the tasks that use it, and its earlier values."""
    item = client.address(name)
    click.echo(render.structured(item, output) if render.is_structured(output) else text(item), nl=False)


def text(item: dict[str, Any]) -> str:
    problem = item["problem"]
    lines = [f"name     {clean(item['name'])}"]
    if problem:
        lines.append(f"problem  {clean(problem['code'])} {clean(problem['what'])}: {clean(problem['found'])}")
    else:
        lines += [f"address  {clean(item['address'])}", f"role     {clean(item['role'])}", f"set      {_set(item)}"]
    lines += [f"probe    {probe(item)}", f"tasks    {_tasks(item)}", f"version  {item['version']}"]
    if item["earlier"]:
        lines.append("earlier")
        lines += [f"  {clean(one['address'])} ({clean(one['role'])}), set {_set(one)}" for one in item["earlier"]]
    return "".join(f"{line}\n" for line in lines)


@command.command("watch")
@name_argument
@interval_option
@with_client
def watch(name: str, interval: float, client: Client) -> None:
    """Print each change of an address until interrupted: its value, its server's state, and where its tasks are."""
    watch_changes(client, name, interval)


@command.command("delete")
@name_argument
@version_option
@confirmation_options
@with_client
def delete(name: str, version: int | None, yes: bool, no_input: bool, client: Client) -> None:
    """Delete an address that no task uses. Requires the role admin."""
    if not yes and not confirmed(f"Delete the address {clean(name)}?", no_input=no_input):
        click.echo("Nothing was changed.", err=True)
        return
    client.delete_address(name, version)
    click.echo(f"Address {clean(name)} deleted.", err=True)


def probe(item: dict[str, Any]) -> str:
    found = item["probe"]
    if not found:
        return "not probed yet"
    if found["answers"]:
        return f"answers for {render.age(found['since_ms'])}"
    return f"no answer for {render.age(found['since_ms'])}: {clean(found['found'])}"


def _row(item: dict[str, Any]) -> list[str]:
    problem = item["problem"]
    address = f"{problem['code']} {problem['what']}" if problem else item["address"]
    found = item["probe"]
    state = "-" if not found else "answers" if found["answers"] else click.style("no answer", fg="red")
    changed = render.moment(item["time_ms"]) if item["time_ms"] else "-"
    return [
        clean(item["name"]),
        clean(address),
        clean(item["role"]) or "-",
        state,
        _tasks(item),
        changed,
        clean(item["by"]) or "-",
    ]


def _tasks(item: dict[str, Any]) -> str:
    return clean(", ".join(item["tasks"])) or "-"


def _set(item: dict[str, Any]) -> str:
    reason = f": {clean(item['reason'])}" if item["reason"] else ""
    return f"{render.moment(item['time_ms'])} by {clean(item['by']) or '-'}{reason}"
