"""Code pages of MySQL and MariaDB that Python lacks or defines differently."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Mapping
from functools import cache
from typing import Final, cast

_ASCII: Final = bytes(range(128)).decode()
_HIGH: Final = bytes(range(128, 256)).decode("latin-1")


def _patched(table: str, changes: Mapping[int, str]) -> str:
    return "".join(changes.get(index, char) for index, char in enumerate(table))


def _page(codec: str) -> str:
    return bytes(range(256)).decode(codec, "replace")


def _undefined(*codes: int) -> dict[int, str]:
    return dict.fromkeys(codes, "\ufffd")


_ARMENIAN: Final = (
    _HIGH[:33] + "❁§։)(»«—.՝,-՟…՜՛՞ԱաԲբԳգԴդԵեԶզԷէԸըԹթԺժԻիԼլԽխԾծԿկՀհՁձՂղՃճՄմՅյՆնՇշՈոՉչՊպՋջՌռՍսՎվՏտՐրՑցՒւՓփՔքՕօՖֆ’'"
)
_KEYBCS2: Final = (
    "ČüéďäĎŤčěĚĹÍľĺÄÁÉžŽôöÓůÚýÖÜŠĽÝŘťáíóúňŇŮÔšřŕŔ¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀"
    "αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\xa0"
)
_GEORGIAN: Final = (
    "€\ufffd‚\ufffd„…†‡\ufffd‰\ufffd‹\ufffd\ufffd\ufffd\ufffd\ufffd‘’“”•–—\ufffd\ufffd\ufffd›"
    + "\ufffd" * 4
    + _HIGH[32:64]
    + "აბგდევზჱთიკლმნჲოპჟრსტჳუფქღყშჩცძწჭხჴჯჰჵ"
    + "\ufffd" * 23
    + "№\ufffd\ufffd"
)
_SWEDISH: Final = {
    0x40: "É",
    0x5B: "Ä",
    0x5C: "Ö",
    0x5D: "Å",
    0x5E: "Ü",
    0x60: "é",
    0x7B: "ä",
    0x7C: "ö",
    0x7D: "å",
    0x7E: "ü",
}
_DEC: Final = {
    **_undefined(0xA4, 0xA6, 0xAC, 0xAD, 0xAE, 0xAF, 0xB4, 0xB8, 0xBE, 0xD0, 0xDE, 0xF0, 0xFE, 0xFF),
    0xA8: "¤",
    0xD7: "Œ",
    0xDD: "Ÿ",
    0xF7: "œ",
    0xFD: "ÿ",
}

TABLES: Final[Mapping[str, str]] = {
    "armscii8": _ASCII + _ARMENIAN,
    "cp866": _patched(_page("cp866"), {0xFC: "ⁿ", 0xFD: "²"}),
    "dec8": _patched(_page("latin-1"), _DEC),
    "geostd8": _ASCII + _GEORGIAN,
    "greek": _patched(_page("iso8859-7"), {0xA1: "\u02bd", 0xA2: "\u02bc"}),
    "hebrew": _patched(_page("iso8859-8"), {0xAF: "\u203e"}),
    "keybcs2": _ASCII + _KEYBCS2,
    "koi8u": _patched(_page("koi8-u"), {0x95: "\u2022"}),
    # MySQL's latin1 is cp1252 whose five free codes are the C1 controls.
    "latin1": _patched(_page("cp1252"), {code: chr(code) for code in (0x81, 0x8D, 0x8F, 0x90, 0x9D)}),
    "swe7": _patched(_ASCII + "\ufffd" * 128, _SWEDISH),
}
"""For character sets of one byte: 256 characters, U+FFFD where there is none."""


def _big5_error(error: UnicodeDecodeError) -> tuple[str, int]:
    """Seven ETEN characters, F9D6 to F9DC, which Python's big5 lacks and its cp950 has."""
    pair = error.object[error.start : error.start + 2]
    if b"\xf9\xd6" <= pair <= b"\xf9\xdc" and len(pair) == 2:
        return pair.decode("cp950"), error.start + 2
    return "\ufffd", error.end


def _euc_error(error: UnicodeDecodeError) -> tuple[str, int]:
    """User-defined rows 85-94 of both planes, and NEC row 13 and the IBM rows of eucjpms."""
    raw, start = error.object, error.start
    plane, offset = (2, 1) if raw[start] == 0x8F else (1, 0)
    pair = raw[start + offset : start + offset + 2]
    if len(pair) < 2 or pair[0] < 0xA1 or pair[1] < 0xA1 or 0xFF in pair:
        return "\ufffd", error.end
    row, cell = pair[0] - 0xA0, pair[1] - 0xA1
    if row >= 85:
        return chr((0xE000, 0xE3AC)[plane - 1] + (row - 85) * 94 + cell), start + offset + 2
    if plane == 1 and row == 13:
        trail = 0x40 + cell + (cell >= 63)
        return bytes((0x87, trail)).decode("cp932", "replace"), start + 2
    index = (row - 83) * 94 + cell - 82
    if plane == 2 and 0 <= index < len(_ibm_characters()):
        return _ibm_characters()[index], start + 3
    return "\ufffd", error.end


@cache
def _ibm_characters() -> str:
    """IBM's selection in eucjpms, 8FF3F3 on: those of cp932's FA40-FC4B that JIS X 0208 and 0212 lack, and U+2116."""
    pairs = (bytes((a, b)) for a in (0xFA, 0xFB, 0xFC) for b in range(0x40, 0xFD) if b != 0x7F)
    every = (pair.decode("cp932") for pair in pairs if pair <= b"\xfc\x4b")
    return "".join(char for char in every if char == "№" or (char not in "￢￤" and not _in_euc(char)))


def _in_euc(char: str) -> bool:
    try:
        char.encode("euc_jp")
    except UnicodeEncodeError:
        return False
    return True


# The registry's type allows for encoders too; these two are only named in decode().
codecs.register_error("replicator.big5", cast("Callable[[UnicodeError], tuple[str, int]]", _big5_error))
codecs.register_error("replicator.euc", cast("Callable[[UnicodeError], tuple[str, int]]", _euc_error))

_BACKSLASH: Final = {0xFF3C: "\\"}
_SWAPPED: Final = {0xE7C7: "\u1e3f", 0x1E3F: "\ue7c7"}
_MICROSOFT: Final = str.maketrans("〜‖−¢£¬¦", "～∥－￠￡￢￤")


def _sjis(raw: bytes) -> str:
    return raw.decode("shift_jis", "replace").translate(_BACKSLASH)


def _ujis(raw: bytes) -> str:
    return raw.decode("euc_jp", "replicator.euc").translate(_BACKSLASH)


def _eucjpms(raw: bytes) -> str:
    # 8FA2B7 is the full-width tilde here, which A1C1 gives; 8F is never a trailing byte.
    return raw.replace(b"\x8f\xa2\xb7", b"\xa1\xc1").decode("euc_jp", "replicator.euc").translate(_MICROSOFT)


def _gb18030(raw: bytes) -> str:
    """The standard of 2005, which swapped one code of the first one, Python's."""
    return raw.decode("gb18030", "replace").translate(_SWAPPED)


def _big5(raw: bytes) -> str:
    return raw.decode("big5", "replicator.big5")


FUNCTIONS: Final[Mapping[str, Callable[[bytes], str]]] = {
    "sjis": _sjis,
    "ujis": _ujis,
    "eucjpms": _eucjpms,
    "big5": _big5,
    "gb18030": _gb18030,
}
"""For character sets of several bytes: what Python's codec of that name lacks or has differently, mended."""
