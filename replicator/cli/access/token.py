"""`replicator token`: tokens of the Server's API."""

from __future__ import annotations

from typing import Any

import click

from replicator.cli.access.listing import show
from replicator.cli.access.options import Duration, role_option, selector_option
from replicator.cli.lazy import SuggestingGroup
from replicator.cli.task import render
from replicator.cli.task.client import Client
from replicator.cli.task.options import output_option, with_client
from replicator.cli.terminal import clean

HEADER = ["NAME", "ROLE", "SELECTOR", "CREATED", "BY", "EXPIRES"]
_MEANINGS = {"ls": "list", "get": "list", "delete": "revoke", "rm": "revoke", "remove": "revoke", "add": "create"}


@click.group("token", cls=SuggestingGroup, meanings=_MEANINGS)
def command() -> None:
    """Create, list and revoke tokens of the Server.

    Requires a login with the role admin, such as the token in the file of the Server.
    """


@command.command("create")
@click.argument("name")
@role_option
@selector_option
@click.option(
    "--expires", "expires_s", type=Duration(), default="never", show_default=True, help="Validity, such as 90d or 12h."
)
@output_option("text", "json", "yaml")
@with_client
def create(name: str, role: str, selector: str, expires_s: int, output: str, client: Client) -> None:
    """Create a token and print it. It is shown only once: the Server keeps a hash."""
    made = client.create_token(name, role, selector, expires_s)
    if output != "text":
        click.echo(render.structured(made, output), nl=False)
        return
    token = made["token"]
    limit = f" for tasks with {clean(token['selector'])}" if token["selector"] else ""
    ends = f", expires {render.moment(token['expires_ms'])}" if token["expires_ms"] else ""
    click.echo(f"Token '{clean(token['name'])}': {token['role']}{limit}{ends}. It is shown only now:", err=True)
    click.echo(token["secret"])


@command.command("list")
@output_option("table", "json", "yaml", "name")
@click.option("--no-headers", is_flag=True, help="Print no header line.")
@with_client
def list_tokens(output: str, no_headers: bool, client: Client) -> None:
    """List the tokens, without their secrets."""
    none = "No tokens yet. Create one: replicator token create NAME"
    show(client.tokens(), output, HEADER, _row, heading=not no_headers, none=none)


def _row(item: dict[str, Any]) -> list[str]:
    ends = render.moment(item["expires_ms"]) if item["expires_ms"] else "never"
    return [
        clean(item["name"]),
        item["role"],
        clean(item["selector"]) or "-",
        render.moment(item["created_ms"]),
        clean(item["created_by"]) or "-",
        f"{ends} (expired)" if item["expired"] else ends,
    ]


@command.command("revoke")
@click.argument("names", nargs=-1, required=True)
@with_client
def revoke(names: tuple[str, ...], client: Client) -> None:
    """Revoke tokens. Requests with them are refused within a second."""
    for name in names:
        client.revoke_token(name)
        click.echo(f"Token '{clean(name)}' revoked.", err=True)


@command.command("whoami")
@output_option("text", "json", "yaml")
@with_client
def whoami(output: str, client: Client) -> None:
    """Show the login that commands use: name, role and selector."""
    login = client.login()
    if output != "text":
        click.echo(render.structured(login, output), nl=False)
        return
    limit = f" for tasks with {clean(login['selector'])}" if login["selector"] else ""
    click.echo(f"{clean(login['label'])}: {login['role']}{limit}")
