"""`replicator cluster backup`: writes the state of all tasks into one file."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from replicator.backup.archive import Backup, Manifest
from replicator.backup.task_restore import time_of
from replicator.backup.tree_backup import back_up
from replicator.cli import options
from replicator.cli.cluster.connection import connected
from replicator.cli.terminal import clean
from replicator.coordination.layout import Layout


class _Backup(click.Command):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """With --verify, what is needed to connect may be missing."""
        if "--verify" not in args or {"-h", "--help"} & set(args):
            return super().parse_args(ctx, args)
        before, ctx.resilient_parsing = ctx.resilient_parsing, True
        try:
            left = super().parse_args(ctx, args)
        finally:
            ctx.resilient_parsing = before
        if ctx.params.get("path") is None or left:
            raise click.UsageError("With --verify, give one FILE.", ctx)
        return left


@click.command("backup", cls=_Backup, short_help="Write the state of all tasks into a file.")
@click.argument("path", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path))
@options.zookeeper()
@click.option("--with-logins", is_flag=True, help="Include tokens and users (hashes).")
@click.option("--verify", is_flag=True, help="Check FILE instead of writing it. ZooKeeper is not contacted.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(
    path: Path, zookeeper: str, root: str, session_timeout: float, with_logins: bool, verify: bool, output: str
) -> None:
    """Write configurations, positions, table definitions, histories, orders and everything else that tasks have in
    ZooKeeper into FILE. All processes continue to run.

    FILE is replaced when the new one is complete and its checksums have been verified; its mode is 0600. It has no
    tokens and passwords of logins unless --with-logins is given, and secrets of configurations only as they are in
    ZooKeeper: by reference or sealed.
    """
    if verify:
        with Backup(path) as backup:
            backup.verify()
            manifest = backup.manifest
    else:
        with connected(zookeeper, root, session_timeout) as coordinator:
            manifest = back_up(coordinator, Layout(root), path, logins=with_logins)
    click.echo(_json(path, manifest) if output == "json" else _text(path, manifest, verified=verify))


def _json(path: Path, manifest: Manifest) -> str:
    fields = {"apiVersion": "v1", "kind": "Backup", "file": str(path), "manifest": msgspec.to_builtins(manifest)}
    return msgspec.json.format(msgspec.json.encode(fields), indent=2).decode()


def _text(path: Path, manifest: Manifest, *, verified: bool) -> str:
    tasks, nodes = len(manifest.tasks), sum(member.nodes for member in manifest.members)
    parts = (
        f"{tasks} task{'' if tasks == 1 else 's'}, {nodes} znodes of {manifest.root}, {time_of(manifest.created_ms)}"
    )
    return f"{clean(str(path))} {'is intact' if verified else 'written'}: {parts}"
