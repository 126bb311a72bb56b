"""Values that a collation takes for equal have the same weight here, and others do not."""

from __future__ import annotations

from itertools import combinations

import pytest

from dev.servers import Database
from replicator.errors import SinkError
from replicator.model import types
from replicator.model.table import Column
from replicator.model.target_table import TargetTable
from replicator.mysql.table_shape import ColumnShape, TableShape
from replicator.sink.mysql.conflicts import lookup
from replicator.sink.mysql.conflicts.found_rows import FoundRows
from replicator.sink.mysql.conflicts.key_literals import literal
from replicator.sink.mysql.conflicts.lookup import Lookup
from replicator.sink.mysql.connection import Target
from replicator.sink.mysql.image_values import Layout
from tests.support import target

TEXTS = ("", " ", "a", "A", "a ", "a  b", "a b", "ä", "ss", "ß", "é", "e\u0301", "\u00a0", "a\u00a0", "I", "i", "ı",
         "æ", "ae", "\u200d", "a\u200d", "ÿ", "x\t", "x", "Σ", "ς", "😀", "中", "10", "1")  # fmt: skip
CODECS = {"utf8mb4": "utf-8", "utf8mb3": "utf-8", "utf8": "utf-8", "latin1": "cp1252", "utf16": "utf-16-be",
          "utf16le": "utf-16-le", "utf32": "utf-32-be", "ucs2": "utf-16-be", "ascii": "ascii", "latin2": "iso8859-2",
          "gbk": "gbk"}  # fmt: skip


@pytest.mark.parametrize("flavour", ["mysql", "mariadb"])
def test_weights(request: pytest.FixtureRequest, flavour: str) -> None:
    server: Database = request.getfixturevalue(flavour)
    session = Target(target.config(server, "place"), "")
    found = FoundRows(session)
    table, name = ("COLLATIONS", "COLLATION_NAME")
    if flavour == "mariadb":
        table, name = ("COLLATION_CHARACTER_SET_APPLICABILITY", "FULL_COLLATION_NAME")
    collations = server.execute(
        f"SELECT CHARACTER_SET_NAME, {name} FROM information_schema.{table} "
        f"WHERE CHARACTER_SET_NAME IS NOT NULL AND {name} NOT LIKE '%nopad_ai_cs' ORDER BY 2"
    )
    checked, failed = 0, dict[str, object]()
    for charset, collation in collations:
        if charset not in CODECS or (charset != "utf8mb4" and checked % 3):
            checked += 1
            continue
        values = dict.fromkeys(raw for text in TEXTS if (raw := encoded(text, charset)) is not None)
        column = ColumnShape(
            "v", types.VARCHAR, 400, True, "`v`", collation=255, charset=charset, collation_name=collation
        )
        known = Lookup(
            TargetTable("d", "t", ()), TableShape("d", "t", (column,)), Layout((-1,), (0,)), (), frozenset({0})
        )
        weights = found.weights(known, 0, values)
        pairs = list(combinations(values, 2))
        asked = ", ".join(f"{literal(column, one)} = {literal(column, other)}" for one, other in pairs)
        answer = session.session.rows("SELECT " + asked)[0]
        wrong = [
            (one, other, equal)
            for (one, other), equal in zip(pairs, answer, strict=True)
            if bool(equal) != (weights[one] == weights[other])
        ]
        failed.update({collation: wrong[:3]} if wrong else {})
        checked += 1
    session.close()
    assert checked > 50
    assert not failed, sorted(failed)


def encoded(text: str, charset: str) -> bytes | None:
    try:
        raw = text.encode(CODECS[charset])
    except UnicodeEncodeError:
        return None
    return None if charset in ("utf8", "utf8mb3", "ucs2") and ord(max(text, default="a")) > 0xFFFF else raw


def test_a_collation_without_weights_is_refused(mariadb: Database) -> None:
    mariadb.execute("CREATE DATABASE IF NOT EXISTS place")
    mariadb.execute(
        "CREATE OR REPLACE TABLE place.odd (id VARCHAR(9) PRIMARY KEY) CHARACTER SET utf8mb4 "
        "COLLATE utf8mb4_uca1400_nopad_ai_cs"
    )
    session = Target(target.config(mariadb, "place"), "")
    column = Column(0, "id", types.VARCHAR, 36)
    with pytest.raises(SinkError, match=r"E3450.*nopad_ai_cs"):
        lookup.read(session, TargetTable("place", "odd", (column,), (0,), mariadb=True))
    session.close()
