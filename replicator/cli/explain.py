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
    words += [f"{section}.{kind}" for section in reference.SECTIONS for kind in reference.types(section) if depth == 1]
    if re.fullmatch(r"[Ee]\d+", incomplete):
        words += CODES
    return [CompletionItem(word) for word in words if word.lower().startswith(incomplete.lower())]


@click.command("explain")
@click.argument("what", default="task", shell_complete=_complete)
@click.option("--type", "kind", metavar="TYPE", help="Show only keys of this type of source or sink.")
def command(what: str, kind: str | None) -> None:
    """Explain WHAT: a configuration key (task, task.source, sink.topic, ...) or an error code (E2104).

    For a key: its type, default and meaning, and the keys below it. Sources and sinks have other keys for each type:
    `sink.kafka`, or `sink --type kafka`, shows those of one.
    """
    code = what.upper()
    if code in CODES:
        click.echo(explained(code), nl=False)
        return
    path = [part for part in what.split(".") if part]
    if path[:1] == ["task"]:
        path = path[1:]
    section, kind = _type(path, kind)
    known = reference.keys(section, kind)
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
    click.echo(_types(name, known) if name in reference.SECTIONS and not kind else _key(name, known), nl=False)


def _type(path: list[str], kind: str | None) -> tuple[str, str]:
    """Section and type that are asked for, ("", "") without a type; `sink.kafka.topic` becomes `sink.topic`."""
    section = path[0] if path else ""
    if section not in reference.SECTIONS:
        if kind is not None:
            raise click.UsageError(f"--type belongs to {' or '.join(reference.SECTIONS)}.")
        return "", ""
    kinds = reference.types(section)
    if len(path) > 1 and path[1] in kinds:
        kind = path.pop(1)
    if kind is not None and kind not in kinds:
        raise click.UsageError(f"No such type of {section}: {kind!r}. There are {', '.join(kinds)}.")
    return section, kind or ""


def _types(section: str, known: dict[str, dict[str, Any]]) -> str:
    """A section whose keys depend on its type: the types, with their keys."""
    lines = _head(section, known)
    lines += ["", f"  {reference.headline(f'{section}.type', known[f'{section}.type'])}"]
    lines += ["", f"keys by type; `replicator explain {section}.TYPE` explains them:"]
    for kind in reference.types(section):
        names = [key.partition(".")[2] for key in reference.keys(section, kind) if key.startswith(f"{section}.")]
        text = ", ".join(name for name in names if "." not in name and name != "type")
        lines += textwrap.wrap(f"{kind}: {text}", 76, initial_indent="  ", subsequent_indent="    ")
    return "\n".join(lines) + "\n"


def explained(code: str) -> str:
    """An error code, its meaning and its remedy."""
    entry = CODES[code]
    lines = [f"{code} {entry.area}: {entry.title}", f"  {entry.meaning}"]
    return "\n".join([*lines, f"  Fix: {entry.remedy}"] if entry.remedy else lines) + "\n"


def _key(name: str, known: dict[str, dict[str, Any]]) -> str:
    """The key itself, then the keys directly below it."""
    lines = _head(name, known)
    below = [key for key in known if key.rpartition(".")[0] == name]
    if below:
        lines += ["", "keys:"]
    for key in below:
        lines.append(f"  {reference.headline(key, known[key])}")
        indent = " " * (_MEANING_COLUMN + 2)
        lines += textwrap.wrap(known[key].get("description", ""), 74, initial_indent=indent, subsequent_indent=indent)
    return "\n".join(lines) + "\n"


def _head(name: str, known: dict[str, dict[str, Any]]) -> list[str]:
    lines = [reference.headline(name, known[name]) if name else "task  one source and one sink"]
    text = known[name].get("description", "") if name else ""
    return lines + textwrap.wrap(text, 76, initial_indent="  ", subsequent_indent="  ")
