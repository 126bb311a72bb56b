"""`replicator user`: people who log in with a password."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from replicator.cli.access.listing import show
from replicator.cli.access.options import role_option, selector_option
from replicator.cli.lazy import SuggestingGroup
from replicator.cli.task import render
from replicator.cli.task.ask import confirmation_options, confirmed
from replicator.cli.task.client import Client
from replicator.cli.task.options import output_option, with_client
from replicator.cli.terminal import clean, interactive

F = TypeVar("F", bound=Callable[..., Any])
HEADER = ["NAME", "ROLE", "SELECTOR", "CREATED", "BY"]
_MEANINGS = {"ls": "list", "get": "list", "delete": "remove", "rm": "remove", "add": "create", "passwd": "password"}


@click.group("user", cls=SuggestingGroup, meanings=_MEANINGS)
def command() -> None:
    """Create, list and remove users: people who log in to Server and Monitor with a password.

    Requires a login with the role admin; users can set their own password.
    """


def password_option(function: F) -> F:
    return click.option(
        "--password-stdin", is_flag=True, help="Read the password from standard input instead of the terminal."
    )(function)


def _password(from_stdin: bool) -> str:
    if from_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    if not interactive():
        raise click.UsageError("There is no terminal to ask for the password. Give --password-stdin.")
    entered: str = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    return entered


@command.command("create")
@click.argument("name")
@role_option
@selector_option
@password_option
@with_client
def create(name: str, role: str, selector: str, password_stdin: bool, client: Client) -> None:
    """Create a user. The password is asked for, at least 12 characters."""
    made = client.create_user(name, _password(password_stdin), role, selector)
    click.echo(f"User '{clean(made['name'])}' created: {_rights(made)}.", err=True)


@command.command("list")
@output_option("table", "json", "yaml", "name")
@click.option("--no-headers", is_flag=True, help="Print no header line.")
@with_client
def list_users(output: str, no_headers: bool, client: Client) -> None:
    """List the users."""
    none = "No users yet. Create one: replicator user create NAME"
    show(client.users(), output, HEADER, _row, heading=not no_headers, none=none)


def _row(item: dict[str, Any]) -> list[str]:
    created, by = render.moment(item["created_ms"]), clean(item["created_by"]) or "-"
    return [clean(item["name"]), item["role"], clean(item["selector"]) or "-", created, by]


def _rights(item: dict[str, Any]) -> str:
    return f"{item['role']} for tasks with {clean(item['selector'])}" if item["selector"] else str(item["role"])


@command.command("password")
@click.argument("name")
@password_option
@with_client
def password(name: str, password_stdin: bool, client: Client) -> None:
    """Set the password of a user. Sessions with the former password end."""
    client.set_password(name, _password(password_stdin))
    click.echo(f"Password of '{clean(name)}' changed.", err=True)


@command.command("role")
@click.argument("name")
@role_option
@selector_option
@with_client
def role(name: str, role: str, selector: str, client: Client) -> None:
    """Set the role of a user, and its selector: without --selector the role is for all tasks."""
    click.echo(f"User '{clean(name)}': {_rights(client.set_role(name, role, selector))}.", err=True)


@command.command("remove")
@click.argument("name")
@confirmation_options
@with_client
def remove(name: str, yes: bool, no_input: bool, client: Client) -> None:
    """Remove a user. Requests and sessions of the user are refused within a second."""
    version = None
    if not yes:
        present = next((item for item in client.users()["items"] if item["name"] == name), None)
        shown = f" ({_rights(present)})" if present else ""
        if not confirmed(f"Remove user '{clean(name)}'{shown}?", no_input=no_input):
            click.echo("Nothing was changed.", err=True)
            return
        version = present["version"] if present else None
    client.remove_user(name, version)
    click.echo(f"User '{clean(name)}' removed.", err=True)
