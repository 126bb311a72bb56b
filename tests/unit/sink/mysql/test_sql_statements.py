"""SQL of row images: nothing of a value but digits, and statements that stop where a row is missing."""

from __future__ import annotations

import re
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.decode.values import json_binary
from replicator.model import types
from replicator.mysql.table_shape import BINARY, ColumnShape
from replicator.sink.mysql.image_values import Layout
from replicator.sink.mysql.row_runs import Run
from replicator.sink.mysql.sql.grants import TriggerGrants
from replicator.sink.mysql.sql.json_literals import Unwritable, document
from replicator.sink.mysql.sql.key_texts import keys_of
from replicator.sink.mysql.sql.literals import literal_of, rows_of
from replicator.sink.mysql.sql.load_data import loaded
from replicator.sink.mysql.sql.sql_table import SqlTable
from replicator.sink.mysql.sql.statements import statements, unchecked
from tests.support.json_documents import documents

SAFE = re.compile(rb"(_[a-z0-9]+ )?X'[0-9a-f]*'|'[-0-9:. ]+'|-?[0-9.]+(e[-+]?[0-9]+)?")
KINDS = [
    (types.LONGLONG, 0, 8), (types.FLOAT, 4, 4), (types.DOUBLE, 8, 8), (types.NEWDECIMAL, 20 << 8 | 5, 10),
    (types.BIT, 1 << 8 | 4, 2), (types.YEAR, 0, 1), (types.DATE, 0, 3), (types.DATETIME2, 6, 8),
    (types.TIMESTAMP2, 6, 7), (types.TIME2, 6, 6), (types.ENUM, 2, 2), (types.SET, 8, 8), (types.VARCHAR, 40, 0),
    (types.BLOB, 2, 0), (types.STRING, 20, 0), (types.GEOMETRY, 4, 0), (types.VECTOR, 4, 0),
]  # fmt: skip


def column(kind: int, meta: int = 0, **more: object) -> ColumnShape:
    return ColumnShape("c", kind, meta, nullable=True, expression="", **{"charset": "utf8mb4", **more})  # type: ignore[arg-type]


@given(st.sampled_from(KINDS), st.booleans(), st.data())
def test_no_value_ends_its_literal(kind: tuple[int, int, int], binary: bool, data: st.DataObject) -> None:
    name, meta, size = kind
    value = data.draw(st.binary(min_size=size, max_size=size or 60))
    made = literal_of(column(name, meta, collation=BINARY if binary else 45))
    try:
        text = made(value)
    except (ValueError, OverflowError):  # bytes that are no value of the type
        return
    assert SAFE.fullmatch(text)


PARTS = re.compile(rb"(CAST\(|JSON_OBJECT\(|JSON_ARRAY\(| AS [A-Z]+(\([0-9,]+\))?|[(),]|" + SAFE.pattern + rb")*")


@given(documents)
def test_documents(raw: bytes) -> None:
    text = document(raw)
    assert PARTS.fullmatch(text)
    if text.startswith(b"_utf8mb4"):  # a JSON text; integration tests execute the expressions
        made = bytes.fromhex(text[11:-1].decode()).decode()
        assert '"base64' not in made
        assert len(made) <= 8 * len(json_binary.to_text(raw)) + 8


@given(st.binary(max_size=80))
def test_damaged_documents_are_refused(raw: bytes) -> None:
    try:
        assert PARTS.fullmatch(document(raw))
    except ValueError:
        return


def test_a_value_of_a_document_that_no_expression_makes() -> None:
    with pytest.raises(Unwritable, match="BLOB"):
        document(bytes((15, types.BLOB, 1, 0)))


def table(**more: object) -> SqlTable:
    columns = (column(types.LONG), column(types.ENUM, 1), column(types.LONG))
    names = (b"`id`", b"`e`", b"`g`")
    given_: dict[str, object] = {
        "name": b"`a`.`t`", "layout": Layout((4, 1, 4), ()), "columns": columns, "names": names,
        "literals": tuple(map(literal_of, columns)), "written": (0, 1), "hint": b" HINT",
        "merges": True, "alias": True, **more,
    }  # fmt: skip
    layout = Layout((4, 1, 4), ())
    given_["keys"] = keys_of(layout, columns, names, (0,))
    given_["texts"] = rows_of(layout, columns, (0, 1))
    given_["loaded"] = loaded(b"`a`.`t`", layout, columns, names, (0, 1))
    return SqlTable(**given_)  # type: ignore[arg-type]


def image(number: int, member: int = 1) -> bytes:
    return bytes((0,)) + struct.pack("<iBi", number, member, 7)


def made_of(given_: SqlTable, run: Run) -> list[bytes]:
    return [each for each in statements(given_, run) if isinstance(each, bytes)]


FAIL = b"1, (SELECT 1 UNION ALL SELECT 2))"


def test_rows_of_a_run_are_one_statement() -> None:
    """Without generated columns; deletes and updates with a statement that fails where a row is missing."""
    rows = [image(1), image(2)]
    assert made_of(table(), Run("t", b"I", 2, b"".join(rows))) == [b"INSERT INTO `a`.`t` (`id`,`e`) VALUES (1,1),(2,1)"]
    assert made_of(table(), Run("t", b"D", 2, b"".join(rows))) == [
        b"DELETE `a`.`t` FROM `a`.`t` HINT WHERE `id` IN (1,2)", b"SET @replicator_rows = IF(ROW_COUNT() = 2, " + FAIL
    ]  # fmt: skip
    updates = Run("t", b"U", 2, image(1) + image(1, 2) + image(2) + image(2, 2))
    assert made_of(table(), updates) == [
        b"SET @replicator_rows = IF((SELECT COUNT(*) FROM `a`.`t` HINT WHERE `id` IN (1,2) FOR UPDATE) = 2, " + FAIL,
        b"INSERT INTO `a`.`t` (`id`,`e`) VALUES (1,2),(2,2) AS replicator_new ON DUPLICATE KEY UPDATE "
        b"`id`=replicator_new.`id`,`e`=replicator_new.`e`",
    ]


def test_updates_one_by_one() -> None:
    """Of keys that change, and of tables whose rows depend on each other."""
    for one, run in (
        (table(), Run("t", b"U", 1, image(1) + image(5))),
        (table(merges=False), Run("t", b"U", 1, image(1) + image(1))),
    ):
        update, matched = made_of(one, run)
        assert update.startswith(b"UPDATE `a`.`t` HINT SET `id`=") and update.endswith(b" WHERE `id` IN (1)")
        assert b"ROW_COUNT() = 1" in matched


def test_enum_0_needs_another_mode_and_gives_it_back() -> None:
    made = made_of(table(), Run("t", b"I", 3, image(1) + image(2, 0) + image(3)))
    assert [each.split(b" (")[0].split(b" = ")[0] for each in made] == [
        b"INSERT INTO `a`.`t`", b"SET SESSION sql_mode", b"INSERT INTO `a`.`t`", b"SET SESSION sql_mode",
        b"INSERT INTO `a`.`t`",
    ]  # fmt: skip
    assert b"STRICT" not in made[1] and b"STRICT" in made[3]


def test_rows_without_foreign_keys() -> None:
    assert list(unchecked([b"x"])) == [
        b"SET SESSION foreign_key_checks = 0",
        b"x",
        b"SET SESSION foreign_key_checks = 1",
    ]


class Answers:
    """A session that answers SHOW GRANTS."""

    def __init__(self, *grants: str) -> None:
        self._grants = grants

    def refusal(self, sql: str) -> int:
        return 0

    def value(self, sql: str) -> str:
        return "NONE" if "ROLE" in sql else "9.7.0"

    def rows(self, sql: str) -> list[tuple[str]]:
        return [(grant,) for grant in self._grants]


@pytest.mark.parametrize(
    ("grants", "sees"),
    [
        (["GRANT USAGE ON *.* TO `u`@`%`"], False),
        (["GRANT ALL PRIVILEGES ON *.* TO `u`@`%` WITH GRANT OPTION"], True),
        (["GRANT SELECT, TRIGGER ON `shop`.* TO `u`@`%`"], True),
        (["GRANT SELECT (a, b), TRIGGER ON `shop`.`item` TO `u`@`%`"], True),
        (["GRANT TRIGGER ON `shop`.`other` TO `u`@`%`"], False),
        (["GRANT TRIGGER ON `sh%`.* TO `u`@`%`"], True),
        ([r"GRANT TRIGGER ON `sho\_`.* TO `u`@`%`"], False),
        (["GRANT SELECT, TRIGGER ON *.* TO `u`@`%`", "REVOKE TRIGGER ON `shop`.* FROM `u`@`%`"], False),
        (["GRANT EXECUTE ON PROCEDURE `shop`.`TRIGGER` TO `u`@`%`", "GRANT `TRIGGER`@`%` TO `u`@`%`"], False),
    ],
)
def test_whether_triggers_are_seen(grants: list[str], sees: bool) -> None:
    assert TriggerGrants(Answers(*grants)).sees("shop", "item") is sees  # type: ignore[arg-type]
