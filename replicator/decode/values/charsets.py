"""Converts binlog text to UTF-8 by collation id, as the servers do.

`model/collations.py` has the character set of each id. Where Python has no such code page, or another one under the
same name, the servers' own conversion counts (tests/integration compares every code of every character set with both
servers). Bytes that are no character become U+FFFD: MySQL itself accepts such values, and refusing a whole row for them
would lose the rest of it.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Mapping
from functools import cache
from typing import Final

from replicator.decode.values import codepages
from replicator.model.collations import COLLATIONS, charset

__all__ = ["COLLATIONS", "charset", "codec", "decode", "decoder", "is_utf8"]

Decode = Callable[[bytes], str]

_CODECS: Final[Mapping[str, str]] = {
    "ascii": "ascii",
    "binary": "utf-8",  # only asked for names; values of binary columns are bytes
    "cp1250": "cp1250",
    "cp1251": "cp1251",
    "cp1256": "cp1256",
    "cp1257": "cp1257",
    "cp850": "cp850",
    "cp852": "cp852",
    "cp932": "cp932",
    "euckr": "cp949",
    "gb2312": "gb2312",
    "gbk": "gbk",
    "hp8": "hp-roman8",
    "koi8r": "koi8-r",
    "latin2": "iso8859-2",
    "latin5": "iso8859-9",
    "latin7": "iso8859-13",
    "macce": "mac_latin2",
    "macroman": "mac_roman",
    "tis620": "tis-620",
    "ucs2": "utf-16-be",
    "utf16": "utf-16-be",
    "utf16le": "utf-16-le",
    "utf32": "utf-32-be",
    "utf8mb3": "utf-8",
    "utf8mb4": "utf-8",
}


def codec(name: str) -> str:
    """Python's name for a character set that it has as the servers do. Raises KeyError."""
    return _CODECS[name]


@cache
def decoder(collation: int) -> Decode:
    """The function that turns the bytes of this collation into text. Raises DecodeError as `charset`."""
    name = charset(collation)
    if name in codepages.FUNCTIONS:
        return codepages.FUNCTIONS[name]
    table = codepages.TABLES.get(name)
    if table is not None:
        return lambda raw: codecs.charmap_decode(raw, "replace", table)[0]
    codec = _CODECS[name]
    return lambda raw: raw.decode(codec, "replace")


def decode(collation: int, raw: bytes) -> str:
    """`raw` as text; bytes that are no character become U+FFFD.

    Raises:
        DecodeError: E2307, the collation is not known.
    """
    return decoder(collation)(raw)


def is_utf8(collation: int) -> bool:
    return charset(collation) in ("utf8mb4", "utf8mb3", "ascii")
