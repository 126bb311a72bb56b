"""The session of commands that use locks, barriers, queues and ids."""

from __future__ import annotations

import getpass
import os
import re
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

import click

from replicator.cli.access.options import seconds
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator
from replicator.coordination.recipes.claim_nodes import Owner
from replicator.coordination.rights import Guard
from replicator.zookeeper import access
from replicator.zookeeper.client import connect

_SIGNALS: Final = (signal.SIGTERM, signal.SIGHUP)


class Wait(click.ParamType[float]):
    """Seconds; 0 asks once."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float | int):
            return float(value)
        text = str(value).strip()
        if re.fullmatch(r"\d{1,9}(\.\d{1,3})?", text):
            return float(text)
        try:
            return float(seconds(text))
        except ValueError:
            self.fail(
                f"{text[:40]!r} is not a number of seconds, or a number with s, m, h or d, such as 30s.", param, ctx
            )


wait_option = click.option("--wait", type=Wait(), help="Time to wait, such as 30s; 0 asks once. Default: no limit.")


@contextmanager
def session(zookeeper: str, root: str, session_timeout: float) -> Iterator[tuple[Coordinator, Layout]]:
    """With the login of the environment, of whatever process it is. SIGTERM and SIGHUP end the session in order, so
    that no other process waits for its timeout.

    Raises NotConnected E4001; ConfigError E4034, E4036.
    """
    login = access.of_environment()
    access.require_secured(zookeeper, login)
    layout = Layout(root)
    guard = Guard(layout, None, required=login.has_identity and not login.insecure)

    def end(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, end) for number in _SIGNALS}
    coordinator = None
    try:
        coordinator = connect(zookeeper, session_timeout, access=login, guard=guard)
        yield coordinator, layout
    finally:
        if coordinator is not None:
            coordinator.close()
        for number, handler in before.items():
            signal.signal(number, handler)


def owner() -> Owner:
    try:
        name = getpass.getuser()
    except (OSError, KeyError):
        name = str(os.getuid())
    return Owner(by=name[:100], host=socket.gethostname()[:100], pid=os.getpid())
