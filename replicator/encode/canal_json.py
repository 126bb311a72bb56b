"""JSON strings as fastjson2 writes them in Canal's flat messages."""

from __future__ import annotations

import re
from typing import Final

_ESCAPED: Final = re.compile('[\x00-\x1f"\\\\]')
_SHORT: Final = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def quote(text: str) -> str:
    """`text` between quotes. Quote, backslash and what is below U+0020 are escaped, in lower case; all else, U+007F and
    characters beyond the BMP too, stays as it is."""
    return '"' + _ESCAPED.sub(lambda match: _SHORT.get(match[0]) or f"\\u{ord(match[0]):04x}", text) + '"'
