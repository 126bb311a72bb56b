"""`replicator alert`: what fires, what is silenced, the rules, and whether messages arrive."""

from __future__ import annotations

import click

from replicator.cli.alert.routes import routes, test
from replicator.cli.alert.shown import describe, ls, rules
from replicator.cli.alert.silencing import silence, silences, unsilence
from replicator.cli.lazy import SuggestingGroup

_MEANINGS = {
    "list": "ls",
    "get": "ls",
    "show": "describe",
    "mute": "silence",
    "unmute": "unsilence",
    "expire": "unsilence",
    "send": "test",
}


@click.group("alert", cls=SuggestingGroup, meanings=_MEANINGS)
def command() -> None:
    """Show and silence alerts, and test their routes. `replicator docs alerts` explains rules and routes."""


for _each in (ls, describe, rules, silence, unsilence, silences, routes, test):
    command.add_command(_each)
