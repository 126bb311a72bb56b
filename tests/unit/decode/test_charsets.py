from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.decode.values.charsets import COLLATIONS, charset, decode, is_utf8
from replicator.errors import DecodeError


@pytest.mark.parametrize(
    ("collation", "name"),
    [
        (8, "latin1"),
        (33, "utf8mb3"),
        (45, "utf8mb4"),
        (63, "binary"),
        (255, "utf8mb4"),  # MySQL utf8mb4_0900_ai_ci
        (309, "utf8mb4"),  # MySQL utf8mb4_0900_bin
        (2304, "utf8mb4"),  # MariaDB utf8mb4_uca1400_ai_ci
        (2048, "utf8mb3"),
        (3072, "utf32"),
        (1046, "koi8u"),
        (248, "gb18030"),
    ],
)
def test_ids(collation: int, name: str) -> None:
    assert charset(collation) == name
    assert is_utf8(collation) == (name in ("utf8mb3", "utf8mb4"))


def test_every_character_set_reads_every_byte() -> None:
    for ids in COLLATIONS.values():
        first = int(ids.partition(" ")[0].partition("-")[0])
        assert isinstance(decode(first, bytes(range(256))), str)


@given(st.sampled_from(sorted(COLLATIONS)), st.binary(max_size=40))
def test_no_bytes_raise(name: str, raw: bytes) -> None:
    decode(int(COLLATIONS[name].partition(" ")[0].partition("-")[0]), raw)


@pytest.mark.parametrize(
    ("collation", "raw", "text"),
    [
        (8, b"\x80\x81\x8d\x8f\x90\x9d", "€\x81\x8d\x8f\x90\x9d"),
        (54, b"\x03\xa9\xd8\x3d\xde\x00", "Ω😀"),
        (35, b"\x00\xf1", "ñ"),
        (60, b"\x00\x00\x20\xac", "€"),
        (56, b"\xe9\x00\x3d\xd8\x00\xde", "é😀"),
        (10, b"{|}", "äöå"),
        (22, b"\xb7\xd6\xc1\xcb", "Їжак"),
        (6, b"\xc5\xb7", "éñ"),
        (37, b"\x87\xa9", "čř"),
        (92, b"\xc0", "ა"),
        (32, b"\xb2", "Ա"),
        (3, b"\xe9\xf1\xa8", "éñ¤"),
        (13, b"\x81\x5f\x5c", "\\\\"),
        (12, b"\xa1\xc0\xf5\xa1\x8f\xf5\xa1", "\\\ue000\ue3ac"),
        (97, b"\xad\xa1\xa1\xc1\x8f\xa2\xb7~\x8f\xf4\xa8", "①～～~Ⅹ"),
        (1, b"\xf9\xd6a", "碁a"),
        (19, b"\x81\x41", "갂"),
        (33, b"\xc3\xa9\xff", "é\ufffd"),
        (11, b"a\x80", "a\ufffd"),
    ],
)
def test_text(collation: int, raw: bytes, text: str) -> None:
    assert decode(collation, raw) == text


def test_an_unknown_collation_has_a_name_and_a_remedy() -> None:
    with pytest.raises(DecodeError) as caught:
        decode(9999, b"x")
    assert caught.value.code == "E2307"
    assert "9999" in str(caught.value)
    assert "utf8mb4" in caught.value.fix
