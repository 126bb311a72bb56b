"""`replicator docs`: prints the documentation that comes with the program."""

from __future__ import annotations

import difflib
import re
import shutil
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from replicator.cli import terminal
from replicator.cli.explain import explained
from replicator.codes import CODES
from replicator.documentation import pages as docs_pages


def _complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    names = [*docs_pages.pages(), *docs_pages.NAMES]
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


@click.command("docs")
@click.argument("page", required=False, shell_complete=_complete)
@click.argument("words", nargs=-1, metavar="[SECTION]")
@click.option("--path", "path_only", is_flag=True, help="Print the location of the page, or of all pages.")
def command(page: str | None, words: tuple[str, ...], path_only: bool) -> None:
    """Print a page of the documentation: the whole PAGE, or its sections whose headings contain SECTION.

    Without PAGE: list the pages. A terminal shows long pages in a pager.

    \b
    replicator docs operations                 the page
    replicator docs operations zookeeper       its section about ZooKeeper
    replicator docs errors E2206               an error code, and where the pages mention it
    replicator docs prometheus-rules           the alert rules for Prometheus
    """
    if page is None:
        click.echo(str(docs_pages.root() / "docs") if path_only else _list(), nl=path_only)
        return
    code = _code(page, words)
    path = docs_pages.find("errors" if code else page)
    if path is None:
        names = [*docs_pages.pages(), *docs_pages.NAMES]
        near = difflib.get_close_matches(page.lower(), names, n=1, cutoff=0.5)
        hint = f"Did you mean {near[0]!r}?" if near else "`replicator docs` lists them."
        raise click.UsageError(f"No such page: {page!r}. {hint}")
    if path_only:
        click.echo(str(path))
        return
    _show(_about(code) if code else _text(path, " ".join(words)))


def _code(page: str, words: tuple[str, ...]) -> str:
    """The error code that is asked for, "" for none."""
    for word in (page, *(words if docs_pages.find(page) == docs_pages.find("errors") else ())):
        if re.fullmatch(r"[Ee]\d{4}", word):
            if word.upper() in CODES:
                return word.upper()
            raise click.UsageError(f"No such code: {word.upper()}. `replicator docs errors` lists all.")
    return ""


def _list() -> str:
    rows = [[name, docs_pages.title(path)] for name, path in docs_pages.pages().items() if name != "README"]
    rows += [[name, inside] for name, inside in docs_pages.NAMES.items()]
    return terminal.table(["PAGE", "TITLE"], rows)


def _about(code: str) -> str:
    places = [f"  replicator docs {page} {heading.lower()!r}" for page, heading in docs_pages.mentions(code)]
    return explained(code) + ("\n".join(["Mentioned in:", *places]) + "\n" if places else "")


def _text(path: Path, words: str) -> str:
    text = path.read_text(encoding="utf-8")
    if not words:
        return text
    found = docs_pages.matching(text, words) if path.suffix == ".md" else []
    if not found:
        headings = "\n".join(f"  {section.heading}" for section in docs_pages.sections(text) if section.level == 2)
        raise click.UsageError(f"No section of {path.stem!r} is about {words!r}. Its sections:\n{headings}")
    return "\n".join("\n".join(section.lines).rstrip() + "\n" for section in found)


def _show(text: str) -> None:
    height = shutil.get_terminal_size((80, 24)).lines
    if terminal.width() is not None and text.count("\n") >= height:
        click.echo_via_pager(text)
    else:
        click.echo(text, nl=not text.endswith("\n"))
