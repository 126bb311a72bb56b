"""Text -> bytes in the character set of a column, as `values/charsets.py` would turn them into the same text."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

from replicator.decode.values import codepages
from replicator.decode.values.charsets import charset, codec, decoder

LONGEST: Final = {
    "utf8mb4": 4, "utf16": 4, "utf16le": 4, "utf32": 4, "gb18030": 4, "utf8mb3": 3, "ujis": 3, "eucjpms": 3, "ucs2": 2,
    "gbk": 2, "gb2312": 2, "big5": 2, "sjis": 2, "cp932": 2, "euckr": 2,
}  # fmt: skip
"""Most bytes of a character; 1 in others."""
_PLAIN: Final = frozenset({"utf8mb4", "utf8mb3", "ascii", "utf16", "utf16le", "utf32"})
_SIMILAR: Final = {
    "sjis": "shift_jis", "ujis": "euc_jp", "eucjpms": "euc_jp", "big5": "big5", "gb18030": "gb18030"
}  # fmt: skip


@cache
def encoder(collation: int) -> Callable[[str], bytes]:
    """The function that turns text into the bytes of this collation. It raises ValueError for characters that the
    character set does not have, or that Python has no code for. Raises DecodeError E2307."""
    name = charset(collation)
    decode = decoder(collation)
    table = codepages.TABLES.get(name)
    if table is not None:
        places = {char: place for place, char in enumerate(table) if char != "\ufffd"}
        return lambda text: _single(text, places, name)
    python = _SIMILAR.get(name) or codec(name)
    if name == "utf8mb3":
        return _short
    if name in _PLAIN:
        return lambda text: text.encode(python)

    def encode(text: str) -> bytes:
        raw = text.encode(python)
        if decode(raw) != text:
            raise ValueError(f"a character that {name} does not have, or that can't be encoded here")
        return raw

    return encode


def _single(text: str, places: dict[str, int], name: str) -> bytes:
    try:
        return bytes(places[char] for char in text)
    except KeyError as error:
        raise ValueError(f"a character that {name} does not have: {error}") from None


def _short(text: str) -> bytes:
    raw = text.encode()
    if any(char > "\uffff" for char in text):
        raise ValueError("a character of four bytes, which utf8mb3 does not have")
    return raw
