"""`replicator completion`: prints the shell completion script."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script of SHELL.

    \b
    bash:  eval "$(replicator completion bash)"
    zsh:   eval "$(replicator completion zsh)"
    fish:  replicator completion fish | source
    """
    kind = get_completion_class(shell)
    root = ctx.find_root()
    if kind is None:  # pragma: no cover - click knows the three
        raise click.UsageError(f"no completion for {shell}")
    click.echo(kind(root.command, {}, "replicator", "_REPLICATOR_COMPLETE").source())
