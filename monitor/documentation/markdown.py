"""Renders a page of the documentation as HTML, with links that lead to pages of the Monitor. Pure.

The pages come with the program. Markup inside of them is shown as text, so that what `make docs` writes into them from
names and texts can't become a part of the document.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererProtocol
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from markupsafe import Markup, escape

from monitor.documentation.places import address_of_link, code_page
from replicator.documentation.pages import anchors

_CODE: Final = re.compile(r"\bE\d{4}\b")


@lru_cache(maxsize=64)
def html(text: str, folder: str) -> Markup:
    """
    Args:
        text: Markdown, as CommonMark with tables.
        folder: that links of the page begin at: "docs".
    """
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.add_render_rule("table_open", _table_open)
    parser.add_render_rule("table_close", _table_close)
    parser.add_render_rule("fence", _code_block)
    parser.add_render_rule("code_block", _code_block)
    tokens = parser.parse(text)
    marks = anchors(text)
    headings = [index for index, token in enumerate(tokens) if token.type == "heading_open"]
    for index, mark in zip(headings, marks, strict=True):
        tokens[index].attrSet("id", mark)
    for token in tokens:
        if token.type == "inline" and token.children is not None:
            token.children = _linked(token.children, folder)
    return Markup(parser.renderer.render(tokens, parser.options, {}))  # noqa: S704 - texts are escaped by the renderer


def _linked(tokens: Sequence[Token], folder: str) -> list[Token]:
    """Links to other pages lead to where the Monitor has them, those to files that an installation lacks to none; error
    codes become links."""
    found: list[Token] = []
    inside, kept = False, False
    for token in tokens:
        if token.type == "link_open":
            address = address_of_link(str(token.attrGet("href") or ""), folder)
            inside, kept = True, bool(address)
            token.attrSet("href", address)
        if token.type in ("link_open", "link_close"):
            if kept:
                found.append(token)
            inside = token.type == "link_open"
        elif token.type == "image":
            token.attrSet("src", address_of_link(str(token.attrGet("src") or ""), folder))
            found.append(token)
        elif token.type in ("text", "code_inline") and not inside:
            found += _codes(token)
        else:
            found.append(token)
    return found


def _codes(token: Token) -> list[Token]:
    """The token in pieces, where it names error codes."""
    pieces: list[Token] = []
    begin = 0
    for match in _CODE.finditer(token.content):
        address = code_page(match[0])
        if address:
            pieces += [
                *_piece(token, token.content[begin : match.start()]),
                Token("link_open", "a", 1, attrs={"href": address}),
                *_piece(token, match[0]),
                Token("link_close", "a", -1),
            ]
            begin = match.end()
    return [*pieces, *_piece(token, token.content[begin:])]


def _piece(token: Token, content: str) -> list[Token]:
    return [token.copy(content=content)] if content else []


def _table_open(
    _renderer: RendererProtocol, _tokens: Sequence[Token], _index: int, _options: OptionsDict, _env: Mapping[str, Any]
) -> str:
    """A wide table moves, not the page; the keyboard reaches it."""
    return '<div class="scroll across" tabindex="0" role="region" aria-label="Table">\n<table class="list">\n'


def _code_block(
    _renderer: RendererProtocol, tokens: Sequence[Token], index: int, _options: OptionsDict, _env: Mapping[str, Any]
) -> str:
    return f'<pre tabindex="0"><code>{escape(tokens[index].content)}</code></pre>\n'


def _table_close(
    _renderer: RendererProtocol, _tokens: Sequence[Token], _index: int, _options: OptionsDict, _env: Mapping[str, Any]
) -> str:
    return "</table>\n</div>\n"
