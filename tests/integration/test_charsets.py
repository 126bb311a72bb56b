"""Every code of every character set, by the servers' own conversion to UTF-16 and by ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import pytest

from dev.servers import Database, MariaDB, MySQL
from replicator.decode.values.charsets import COLLATIONS, charset, decode

SINGLE = [bytes([code]) for code in range(256)]
PAIRS = [bytes(pair) for pair in product(range(0x81, 0xFF), range(0x40, 0xFF))]
TRIPLES = [bytes([0x8F, *pair]) for pair in product(range(0xA1, 0xFF), range(0xA1, 0xFF))]
PLANE = [code.to_bytes(2, "big") for code in range(0x10000) if not 0xD800 <= code < 0xE000]
SUPPLEMENTARY = [chr(code) for code in range(0x10000, 0x110000, 997)]

CODES: dict[str, Sequence[bytes]] = {
    **dict.fromkeys(("big5", "cp932", "euckr", "gb2312", "gbk", "sjis"), SINGLE + PAIRS),
    **dict.fromkeys(("ujis", "eucjpms"), SINGLE + PAIRS + TRIPLES),
    "gb18030": SINGLE + PAIRS,
    "ucs2": PLANE[::7],
    "utf16": PLANE[::7] + [char.encode("utf-16-be") for char in SUPPLEMENTARY],
    "utf16le": [code[::-1] for code in PLANE[::7]] + [char.encode("utf-16-le") for char in SUPPLEMENTARY],
    "utf32": [bytes(2) + code for code in PLANE[::7]] + [char.encode("utf-32-be") for char in SUPPLEMENTARY],
    "utf8mb3": [code.decode("utf-16-be").encode() for code in PLANE[::7]],
    "utf8mb4": [char.encode() for char in SUPPLEMENTARY],
}


def first_id(name: str) -> int:
    return int(COLLATIONS[name].partition(" ")[0].partition("-")[0])


def converted(server: Database, name: str, codes: Sequence[bytes]) -> Iterator[tuple[bytes, str]]:
    """(code, character) of those codes that are a character to the server."""
    connection = server.connect()
    with connection.cursor() as cursor:
        cursor.execute("SET sql_mode = ''")
        for start in range(0, len(codes), 1000):
            part = codes[start : start + 1000]
            given = [f"CONVERT(x'{code.hex()}' USING {name})" for code in part]
            cursor.execute(
                "SELECT " + ",".join(f"CONCAT(LENGTH({one}), ' ', HEX(CONVERT({one} USING utf16)))" for one in given)
            )
            for code, answer in zip(part, cursor.fetchone(), strict=True):
                length, _, text = (answer or "").partition(" ")
                char = bytes.fromhex(text).decode("utf-16-be")
                whole = char and length == str(
                    len(code)
                )  # else the server cut it at the first byte that is no character
                if whole and "\ufffd" not in char and ("?" not in char or b"?" in code):
                    yield code, char
    connection.close()


def charsets_of(server: Database) -> list[str]:
    names = server.execute("SELECT character_set_name FROM information_schema.character_sets")
    return sorted(str(name) for (name,) in names if name != "binary")


@pytest.fixture(params=["mysql", "mariadb"])
def server(request: pytest.FixtureRequest) -> Database:
    found = request.getfixturevalue(request.param)
    assert isinstance(found, (MySQL, MariaDB))
    return found


def test_every_collation_of_the_server_is_known(server: Database) -> None:
    ids = server.execute("SELECT id, character_set_name FROM information_schema.collations WHERE id IS NOT NULL")
    if isinstance(server, MariaDB):
        ids += server.execute(
            "SELECT id, character_set_name FROM information_schema.collation_character_set_applicability"
        )
    unknown = [(number, name) for number, name in ids if charset(number) != name]
    assert len(ids) > 200 and not unknown


def test_every_code_is_the_servers_character(server: Database) -> None:
    wrong: list[tuple[str, str, str, str]] = []
    for name in charsets_of(server):
        seen = 0
        for code, char in converted(server, name, CODES.get(name, SINGLE)):
            ours = decode(first_id(name), code)
            seen += 1
            if ours != char:
                wrong.append((name, code.hex(), ascii(char), ascii(ours)))
        assert seen > 100, name
    assert not wrong, f"{len(wrong)} codes, for instance {wrong[:20]}"
