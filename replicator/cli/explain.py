"""`replicator explain`: explains configuration keys and error codes."""

from __future__ import annotations

import difflib
import re
import textwrap
from typing import Any

import click
from click.shell_completion import CompletionItem

from replicator.codes import CODES
from replicator.config import reference

_MEANING_COLUMN = 4


def _complete(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Configuration keys one level further than what is typed, and error codes once a digit is."""
    depth = incomplete.count(".")
    words = [key for key in list(reference.keys()) if key.count(".") == depth]
    if re.fullmatch(r"[Ee]\d+", incomplete):
        words += CODES
    return [CompletionItem(word) for word in words if word.lower().startswith(incomplete.lower())]


@click.command("explain")
@click.argument("what", default="task", shell_complete=_complete)
def command(what: str) -> None:
    """Explain WHAT: a configuration key (task, task.source, sink.topic, ...) or an error code (E2104).

    For a key: its type, default and meaning, and the keys below it.
    """
    code = what.upper()
    if code in CODES:
        click.echo(explained(code), nl=False)
        return
    path = [part for part in what.split(".") if part]
    if path[:1] == ["task"]:
        path = path[1:]
    known = reference.keys()
    name = ".".join(path)
    if name and name not in known:
        if re.fullmatch(r"E\d{1,4}", code):
            alike = [other for other in CODES if other[:3] == code[:3]]
            raise click.UsageError(f"No such code: {code}. {'There are ' + ', '.join(alike) if alike else ''}".rstrip())
        choices = list(known)
        near = difflib.get_close_matches(name, choices, n=3, cutoff=0.5)
        words = difflib.get_close_matches(path[-1], [key.rpartition(".")[2] for key in known], n=2, cutoff=0.6)
        near += [key for word in words for key in known if key.rpartition(".")[2] == word and key not in near]
        hint = f" Did you mean {' or '.join(near[:3])}?" if near else " See `replicator explain task`."
        raise click.UsageError(f"No such key or code: {what!r}.{hint}")
    click.echo(_key(name, known), nl=False)


def explained(code: str) -> str:
    """An error code, its meaning and its remedy."""
    entry = CODES[code]
    lines = [f"{code} {entry.area}: {entry.title}", f"  {entry.meaning}"]
    return "\n".join([*lines, f"  Fix: {entry.remedy}"] if entry.remedy else lines) + "\n"


def _key(name: str, known: dict[str, dict[str, Any]]) -> str:
    """The key itself, then the keys directly below it."""
    lines = [reference.headline(name, known[name]) if name else "task  one source and one sink"]
    if name and known[name].get("description"):
        lines += textwrap.wrap(known[name]["description"], 76, initial_indent="  ", subsequent_indent="  ")
    below = [key for key in known if key.rpartition(".")[0] == name]
    if below:
        lines += ["", "keys:"]
    for key in below:
        lines.append(f"  {reference.headline(key, known[key])}")
        indent = " " * (_MEANING_COLUMN + 2)
        lines += textwrap.wrap(known[key].get("description", ""), 74, initial_indent=indent, subsequent_indent=indent)
    return "\n".join(lines) + "\n"
