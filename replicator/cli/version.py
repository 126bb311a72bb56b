"""`replicator version`: prints versions."""

from __future__ import annotations

import json
import platform
from importlib.metadata import PackageNotFoundError, version

import click

from replicator import compiled

PACKAGES = ("mysql-replicator", "kafka-python", "kazoo", "mysql-replication", "PyMySQL")


@click.command("version")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text")
def command(output: str) -> None:
    """Print the version of replicator and of the libraries that it talks to servers with."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    found["decoder"] = compiled.describe()
    if output == "json":
        click.echo(json.dumps({"apiVersion": "v1", "kind": "Version", **found}))
        return
    for name in ("mysql-replicator", "python", "decoder", *PACKAGES[1:]):
        click.echo(f"{name} {found[name]}")
