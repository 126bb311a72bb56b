"""JSON strings as latin-1 text of their UTF-8 bytes, the form in which the compiler joins rows."""

from __future__ import annotations

import re
from binascii import b2a_base64
from typing import Final

from replicator.model import json_string

needs_care: Final = re.compile('[\x00-\x1f"\\\\\x80-\xff]').search
"""None for latin-1 text of UTF-8 bytes that can stand between quotes as it is."""

_escapes: Final = re.compile('[\x00-\x1f"\\\\\xf0-\xf4]').search
"""The same for text that is known to be UTF-8; F0 to F4 begin the characters beyond the BMP."""


def quote(text: str) -> str:
    """A JSON string from text."""
    return json_string.quote(text).encode().decode("latin-1")


def quote_utf8(latin: str) -> str:
    """A JSON string from latin-1 text of UTF-8 bytes; bytes that are not UTF-8 become U+FFFD."""
    raw = latin.encode("latin-1")
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return quote(raw.decode("utf-8", "replace"))
    return f'"{latin}"' if _escapes(latin) is None else quote(text)


def base64(raw: bytes) -> str:
    """A JSON string with the standard Base64 of `raw`."""
    return '"' + b2a_base64(raw, newline=False).decode("ascii") + '"'
