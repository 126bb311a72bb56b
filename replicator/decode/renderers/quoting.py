"""JSON strings as Jackson writes them in Kafka Connect, as latin-1 text of their UTF-8 bytes.

Quote, backslash and everything below U+0020 are escaped, with the short forms where JSON has them and upper-case hex
elsewhere; characters beyond the BMP become a pair of escaped surrogates; all else, U+007F and U+2028 too, stays raw.
"""

from __future__ import annotations

import re
from binascii import b2a_base64
from typing import Final

needs_care: Final = re.compile('[\x00-\x1f"\\\\\x80-\xff]').search
"""None for latin-1 text of UTF-8 bytes that can stand between quotes as it is."""

_ESCAPED: Final = re.compile('[\x00-\x1f"\\\\\U00010000-\U0010ffff]')
_SHORT: Final = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    code = ord(char)
    if code >= 0x10000:
        code -= 0x10000
        return f"\\u{0xD800 + (code >> 10):04X}\\u{0xDC00 + (code & 0x3FF):04X}"
    return _SHORT.get(char) or f"\\u{code:04X}"


def quote(text: str) -> str:
    """A JSON string from text."""
    return '"' + _ESCAPED.sub(_escape, text).encode().decode("latin-1") + '"'


def quote_utf8(latin: str) -> str:
    """A JSON string from latin-1 text of UTF-8 bytes; bytes that are not UTF-8 become U+FFFD."""
    return quote(latin.encode("latin-1").decode("utf-8", "replace"))


def base64(raw: bytes) -> str:
    """A JSON string with the standard Base64 of `raw`."""
    return '"' + b2a_base64(raw, newline=False).decode("ascii") + '"'
