"""Checks the head of an HTTP request as it was sent, before a parser has made it uniform. Pure.

Heads that two implementations read in different ways are how requests are smuggled past a proxy: h11 accepts some of
them (lines that end with LF, a Content-Length besides Transfer-Encoding, the same Content-Length twice), a proxy in
front may read them in another way. They are refused.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

MAX_HEAD: Final = 32 * 1024
"""Bytes; tokens of identity providers have a few thousand."""
MAX_FIELDS: Final = 100

_END: Final = re.compile(rb"\n\r?\n")
_CONTROL: Final = re.compile(rb"[\x00\x0b\x0c]")
"""Those that some parsers take for the end of a text, or for a blank."""
_ONCE: Final = frozenset({b"host", b"content-length", b"transfer-encoding"})
_VERSIONS: Final = (b"HTTP/1.1", b"HTTP/1.0")
_TARGET: Final = re.compile(rb"/[\x21-\x7e]*|\*")


class Fault(NamedTuple):
    """status: of the answer; found: in words, without anything of the request."""

    status: int
    found: str


def split(buffer: bytes) -> tuple[bytes, bytes] | None:
    """The head with the empty line at its end, and what follows; None while it is incomplete."""
    end = _END.search(buffer)
    return (buffer[: end.end()], buffer[end.end() :]) if end is not None else None


def incomplete(buffer: bytes) -> Fault | None:
    """What is wrong with a head although the rest of it is missing."""
    if len(buffer) > MAX_HEAD:
        return Fault(431, f"a request head over {MAX_HEAD} bytes")
    if buffer[:1] in (b"\r", b"\n"):
        return Fault(400, "an empty line instead of a request")
    return None


def fault(head: bytes) -> Fault | None:
    """What is wrong with a whole head."""
    early = incomplete(head)
    if early is not None:
        return early
    text = head.replace(b"\r\n", b"")
    if b"\n" in text or b"\r" in text:
        return Fault(400, "a line that does not end with CR LF")
    if _CONTROL.search(text):
        return Fault(400, "a control character")
    request, *lines = head.split(b"\r\n")[:-2]
    words = request.split(b" ")
    if len(words) != 3 or not _TARGET.fullmatch(words[1]) or words[2] not in _VERSIONS:
        return Fault(400, "a request line other than METHOD /PATH HTTP/1.1")
    return _fields(lines, words[2])


def _fields(lines: list[bytes], version: bytes) -> Fault | None:
    if len(lines) > MAX_FIELDS:
        return Fault(431, f"over {MAX_FIELDS} header fields")
    values: dict[bytes, bytes] = {}
    for line in lines:
        name, colon, value = line.partition(b":")
        key = name.lower()
        if not colon or not name or name != name.strip():
            return Fault(400, "a header line without a name, a folded one, or one with a blank before its colon")
        if key in _ONCE and key in values:
            return Fault(400, f"{key.decode()} twice")
        values[key] = value.strip()
    return _framing(values, version)


def _framing(values: dict[bytes, bytes], version: bytes) -> Fault | None:
    length, coding = values.get(b"content-length"), values.get(b"transfer-encoding")
    if length is not None and coding is not None:
        return Fault(400, "both content-length and transfer-encoding")
    if length is not None and not (length.isdigit() and len(length) < 16):
        return Fault(400, "a content-length that is not a number")
    if coding is not None and (coding.lower() != b"chunked" or version != b"HTTP/1.1"):
        return Fault(400, "a transfer-encoding other than chunked")
    return None
