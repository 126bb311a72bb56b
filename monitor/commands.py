"""Commands to copy: what does the same as a button of the Monitor, for a shell, with the CLI and with curl. Pure."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

import msgspec

from replicator.coordination.layout import escape

PLACE: Final = '"$REPLICATOR_SERVER"'
"""In curl, where the address of the Server is not known. The shell replaces it and the token: neither is ever in it."""
_HEADER: Final = '"Authorization: Bearer $REPLICATOR_TOKEN"'


class Command(msgspec.Struct, frozen=True):
    """`curl` is "" where the API has no such request."""

    cli: str
    curl: str = ""


def command(
    words: str,
    name: str,
    options: Mapping[str, str] = {},
    *,
    more: str = "",
    server: str = "",
    path: str = "",
    body: Mapping[str, str] = {},
    version: int | None = None,
) -> Command:
    """
    Args:
        words: such as `task pause`; name: of the task or machine; options: of the CLI, "" for flags; more: a second
            argument, after the name.
        server: "" if the Monitor has none.
        path: of the API; "": no curl.
        body: of the request; version: for If-Match.
    """
    parts = ["replicator", *words.split()]
    for option, value in options.items():
        parts += [option, shlex.quote(value)] if value else [option]
    if server:
        parts += ["--server", shlex.quote(server)]
    named = [name, more] if more else [name]
    parts += ["--"] if any(each.startswith("-") for each in named) else []
    parts += [shlex.quote(each) for each in named]
    return Command(" ".join(parts), curl("POST", path, body, server=server, version=version) if path else "")


def segment(name: str) -> str:
    """A name in a path of the API: escaped as its znode's is, and once more for the URL."""
    return quote(escape(name), safe="")


def curl(
    method: str, path: str, body: Mapping[str, Any] | None = None, *, server: str = "", version: int | None = None
) -> str:
    """
    Args:
        path: below /api/v1, with the query.
        body: None: the request has none.
        server: "": the variable of the shell.
        version: for If-Match.
    """
    parts = ["curl", "--fail-with-body", *(() if method == "GET" else ("-X", method)), "-H", _HEADER]
    if body is not None:
        parts += ["-H", "'Content-Type: application/json'"]
    if version is not None:
        parts += ["-H", f"'If-Match: \"{version}\"'"]
    if body is not None:
        parts += ["-d", shlex.quote(json.dumps(dict(body)))]
    address = f"/api/v1{path}"
    return " ".join([*parts, shlex.quote(f"{server}{address}") if server else f"{PLACE}{shlex.quote(address)}"])
