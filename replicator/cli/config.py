"""`replicator config`: contexts of the command line, and the settings that it uses."""

from __future__ import annotations

from pathlib import Path

import click
from click.shell_completion import CompletionItem

from replicator.cli import contexts
from replicator.cli.address_types import SERVER_URL
from replicator.cli.contexts import Context, Contexts
from replicator.cli.lazy import SuggestingGroup
from replicator.cli.task import render
from replicator.cli.task.options import output_option
from replicator.cli.terminal import clean, shortened, table, width
from replicator.errors import ProcessError, ReplicatorError

_MEANINGS = {
    "list": "get-contexts",
    "ls": "get-contexts",
    "get": "get-contexts",
    "use": "use-context",
    "set": "set-context",
    "delete": "delete-context",
    "rm": "delete-context",
    "current": "current-context",
    "show": "view",
}


@click.group("config", cls=SuggestingGroup, meanings=_MEANINGS)
def command() -> None:
    """Manage contexts: named Servers with their tokens.

    A setting is taken from an option, else from an environment variable, else from the context, else from its default.
    The file is contexts.json in ~/.config/mysql-replicator (XDG_CONFIG_HOME), or that of REPLICATOR_CONFIG.
    """


def complete_context(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    try:
        named = contexts.load().named
    except ReplicatorError:
        return []
    return [CompletionItem(name, help=one.server) for name, one in sorted(named.items()) if name.startswith(incomplete)]


_PATH = click.Path(dir_okay=False, path_type=Path)
_name = click.argument("name", shell_complete=complete_context)


@command.command("get-contexts")
@output_option("table", "tsv", "json", "yaml", "name")
def get_contexts(output: str) -> None:
    """List the contexts; * marks the current one."""
    found = contexts.load()
    items = [
        {"name": name, "current": name == found.current, **one._asdict()} for name, one in sorted(found.named.items())
    ]
    header = ["CURRENT", "NAME", "SERVER", "TOKEN FILE", "CA FILE", "CERTIFICATE"]
    shown = ("name", "server", "token_file", "ca_file", "client_certificate")
    rows = [["*" if item["current"] else "", *(clean(item[key]) or "-" for key in shown)] for item in items]
    if render.is_structured(output):
        click.echo(render.structured({"kind": "ContextList", "items": items}, output), nl=False)
    elif output == "name":
        click.echo("".join(f"{clean(item['name'])}\n" for item in items), nl=False)
    elif output == "tsv":
        click.echo(render.tab_separated(header, rows, heading=True), nl=False)
    elif rows:
        _print(header, rows)
    else:
        click.echo("No contexts yet. Write one: replicator config set-context NAME --server URL", err=True)


@command.command("current-context")
def current_context() -> None:
    """Print the name of the context that commands use."""
    name, _ = contexts.chosen(contexts.load())
    if not name:
        raise ProcessError("E5093", "there is no current context", fix="`replicator config use-context NAME` sets it.")
    click.echo(clean(name))


@command.command("use-context")
@_name
def use_context(name: str) -> None:
    """Make NAME the current context."""
    found = contexts.load()
    _existing(found, name)
    contexts.save(found._replace(current=name))
    click.echo(f"{clean(name)} is the current context")


@command.command("set-context")
@_name
@click.option("--server", type=SERVER_URL, help="URL of the Server.")
@click.option(
    "--token-file",
    type=_PATH,
    help="File with the token of this Server; its path is stored, not the token.",
)
@click.option("--ca-file", type=_PATH, help="Authorities (PEM) that the certificate of this Server is verified with.")
@click.option("--client-certificate", type=_PATH, help="Certificate (PEM) for this Server, if it requires one.")
@click.option("--client-key", type=_PATH, help="Key of --client-certificate (PEM), mode 600; its path is stored.")
@click.option("--use", is_flag=True, help="Make it the current context, too.")
def set_context(name: str, server: str | None, use: bool, **files: Path | None) -> None:
    """Write the context NAME, or change what is given of it. The first context becomes the current one."""
    contexts.check_name(name)
    found = contexts.load()
    before = found.named.get(name)
    if before is None and server is None:
        raise click.UsageError("A new context requires --server.")
    given = {key: str(path.expanduser().absolute()) for key, path in files.items() if path is not None}
    after = (before or Context(""))._replace(**given, **({"server": server} if server is not None else {}))
    if after.client_key and not after.client_certificate:
        raise click.UsageError("--client-key requires --client-certificate.")
    current = name if use or not found.named else found.current
    contexts.save(Contexts(current, {**found.named, name: after}))
    click.echo(f"{clean(name)} {'unchanged' if after == before else 'configured' if before else 'created'}")


@command.command("delete-context")
@_name
def delete_context(name: str) -> None:
    """Delete the context NAME. The token file stays."""
    found = contexts.load()
    _existing(found, name)
    rest = {other: one for other, one in found.named.items() if other != name}
    contexts.save(Contexts("" if found.current == name else found.current, rest))
    click.echo(f"{clean(name)} deleted")


@command.command("view")
@click.option("--show-origin", is_flag=True, help="Show where each setting comes from.")
@output_option("table", "tsv", "json", "yaml")
def view(show_origin: bool, output: str) -> None:
    """Show the settings that commands without options use. Tokens are not shown."""
    settings = contexts.settings()
    header = ["SETTING", "VALUE", *(["ORIGIN"] if show_origin else [])]
    rows = [[one.name, clean(one.value) or "-", *([clean(one.origin)] if show_origin else [])] for one in settings]
    if render.is_structured(output):
        items = [one._asdict() if show_origin else {"name": one.name, "value": one.value} for one in settings]
        click.echo(render.structured({"kind": "Settings", "items": items}, output), nl=False)
    elif output == "tsv":
        click.echo(render.tab_separated(header, rows, heading=True), nl=False)
    else:
        _print(header, rows)


def _print(header: list[str], rows: list[list[str]]) -> None:
    """In a terminal long lines are cut."""
    limit = width()
    click.echo("".join(f"{shortened(line, limit)}\n" for line in table(header, rows).splitlines()), nl=False)


def _existing(found: Contexts, name: str) -> None:
    """Raises ProcessError E5093."""
    if name not in found.named:
        known = ", ".join(sorted(found.named)) or "none"
        raise ProcessError("E5093", f"there is no context '{name}'", found=f"contexts: {known}")
