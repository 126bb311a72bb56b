"""Character sets: their default collations and widest characters, and how a definition inherits one.

Both servers agree on all but utf8mb4's default. A server may be set to other defaults (`character_set_collations`,
`default_collation_for_utf8mb4`); that changes the collation that is shown for a column, never its character set.
"""

from __future__ import annotations

from typing import Final

import msgspec

from replicator.schema.ddl_ast import Charset


class Text(msgspec.Struct, frozen=True, array_like=True):
    """A character set and a collation that are in force. `charset` is "utf8mb3" where "utf8" was written."""

    charset: str
    collation: str


class _Known(msgspec.Struct, frozen=True):
    collation: str
    id: int
    widest: int


_TABLE: Final = """
armscii8_general_ci 32 1, ascii_general_ci 11 1, big5_chinese_ci 1 2, cp1250_general_ci 26 1, cp1251_general_ci 51 1,
cp1256_general_ci 57 1, cp1257_general_ci 59 1, cp850_general_ci 4 1, cp852_general_ci 40 1, cp866_general_ci 36 1,
cp932_japanese_ci 95 2, dec8_swedish_ci 3 1, eucjpms_japanese_ci 97 3, euckr_korean_ci 19 2, gb18030_chinese_ci 248 4,
gb2312_chinese_ci 24 2, gbk_chinese_ci 28 2, geostd8_general_ci 92 1, greek_general_ci 25 1, hebrew_general_ci 16 1,
hp8_english_ci 6 1, keybcs2_general_ci 37 1, koi8r_general_ci 7 1, koi8u_general_ci 22 1, latin1_swedish_ci 8 1,
latin2_general_ci 9 1, latin5_turkish_ci 30 1, latin7_general_ci 41 1, macce_general_ci 38 1, macroman_general_ci 39 1,
sjis_japanese_ci 13 2, swe7_swedish_ci 10 1, tis620_thai_ci 18 1, ucs2_general_ci 35 2, ujis_japanese_ci 12 3,
utf16_general_ci 54 4, utf16le_general_ci 56 4, utf32_general_ci 60 4, utf8mb3_general_ci 33 3
"""


def _known() -> dict[str, _Known]:
    known = {"binary": _Known("binary", 63, 1)}
    for entry in _TABLE.replace("\n", " ").split(","):
        collation, number, widest = entry.split()
        known[collation.partition("_")[0]] = _Known(collation, int(number), int(widest))
    return known


_KNOWN: Final = _known()
_UTF8MB4: Final = {False: _Known("utf8mb4_0900_ai_ci", 255, 4), True: _Known("utf8mb4_general_ci", 45, 4)}
BINARY: Final = Text("binary", "binary")


def _lookup(charset: str, mariadb: bool) -> _Known | None:
    return _UTF8MB4[mariadb] if charset == "utf8mb4" else _KNOWN.get(charset)


def widest(charset: str | None) -> int:
    """Bytes of the longest character; 1 for no or an unknown character set."""
    known = _lookup(charset or "", False)
    return known.widest if known else 1


def collation_id(charset: str | None, *, mariadb: bool) -> int | None:
    """The id of the character set's default collation: decoding needs no more than the character set."""
    known = _lookup(charset or "", mariadb)
    return known.id if known else None


def default(*, mariadb: bool) -> Text:
    return Text("utf8mb4", _UTF8MB4[mariadb].collation)


def resolve(written: Charset, inherited: Text, *, mariadb: bool) -> Text:
    """What `written` means where `inherited` would hold without it."""
    charset, collation = _modern(written.charset), written.collation
    if collation is not None:
        collation = _modern_collation(collation)
        charset = charset or _charset_of(collation) or inherited.charset
        return Text(charset, collation)
    if charset is None:
        found = inherited
    else:
        known = _lookup(charset, mariadb)
        found = Text(charset, known.collation if known else f"{charset}_general_ci")
    if written.binary and found.charset != "binary":
        return Text(found.charset, f"{found.charset}_bin")
    return found


def _modern(charset: str | None) -> str | None:
    return "utf8mb3" if charset == "utf8" else charset


def _modern_collation(collation: str) -> str:
    return f"utf8mb3_{collation[5:]}" if collation.startswith("utf8_") else collation


def _charset_of(collation: str) -> str | None:
    """None for MariaDB's collations that fit several (`uca1400_ai_ci`)."""
    charset = collation.partition("_")[0]
    return charset if charset in _KNOWN or charset == "utf8mb4" else None
