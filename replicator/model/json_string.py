"""JSON strings in the notation of Jackson in Kafka Connect, as in Debezium's records.

Quote, backslash and everything below U+0020 are escaped, with the short forms where JSON has them and upper-case hex
elsewhere; characters beyond the BMP become a pair of escaped surrogates; all else, U+007F and U+2028 too, stays raw.
"""

from __future__ import annotations

import re
from typing import Final

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
    """`text` between quotes, escaped."""
    return '"' + _ESCAPED.sub(_escape, text) + '"'
