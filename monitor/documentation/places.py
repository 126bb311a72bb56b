"""Where the Monitor shows a page of the documentation, and an error code; and texts in which both are links. Pure."""

from __future__ import annotations

import posixpath
import re
from functools import lru_cache
from typing import Final
from urllib.parse import quote

from markupsafe import Markup, escape

from replicator.codes import CODES
from replicator.documentation import pages

_NAMED: Final = re.compile(r"\b(?P<code>E\d{4})\b|`?replicator docs (?P<page>[a-z-]+)(?P<words>(?: [a-z-]+)*)`?")


def code_page(code: str) -> str:
    """`/codes/E2206`; "": this release has no such code."""
    return f"/codes/{code}" if code in CODES else ""


def docs_page(place: str) -> str:
    """The address of a section that a rule or a link names by file and heading; "": there is no such file."""
    name, _, section = place.partition("#")
    path = pages.find(name)
    if path is None:
        return ""
    inside = path.relative_to(pages.root()).as_posix()
    address = "/docs/" + quote(inside.removeprefix("docs/").removesuffix(".md"))
    return f"{address}#{section}" if section else address


def address_of_link(target: str, folder: str) -> str:
    """The address for a link or picture of a page in `folder`; "": an installation does not have what it leads to."""
    if target.startswith(("https://", "http://", "#")):
        return target
    name, mark, section = target.partition("#")
    return docs_page(posixpath.normpath(posixpath.join(folder, name)) + mark + section)


@lru_cache(maxsize=256)
def _section(page: str, words: str) -> str:
    """The address of the section that `replicator docs PAGE WORDS` prints."""
    path = pages.find(page)
    address = docs_page(page)
    if path is None or not words or path.suffix != ".md":
        return address
    found = pages.matching(path.read_text(encoding="utf-8"), words)
    return f"{address}#{pages.anchor(found[0].heading)}" if found else address


def linked(text: str) -> Markup:
    """A text for people, in which error codes and commands that print a page are links."""
    made, begin = Markup(), 0
    for match in _NAMED.finditer(text):
        address = code_page(match["code"]) if match["code"] else _section(match["page"], match["words"].strip())
        if address:
            made += escape(text[begin : match.start()]) + Markup('<a href="{}">{}</a>').format(address, match[0])
            begin = match.end()
    return made + escape(text[begin:])
