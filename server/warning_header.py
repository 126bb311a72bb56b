"""Adds a header with what is insecure about this Server to every answer, for people who only use the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from replicator.telemetry.hosts import App, Message, Receive, Scope, Send

NAME: Final = "x-replicator-warning"


def with_warnings(app: App, warnings: Sequence[str]) -> App:
    if not warnings:
        return app
    header = (NAME.encode(), "; ".join(warnings).encode("ascii", "replace"))

    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        async def warned(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), header]
            await send(message)

        await app(scope, receive, warned)

    return wrapped
