from __future__ import annotations

import msgspec
import pytest

from replicator.model.table import Column
from replicator.model.target_statement import TargetStatement
from replicator.model.target_table import TargetTable, TargetTables

ITEM = TargetTable("shop", "item", (Column(0, "id", 3), Column(1, "name", 15, 80)), (0,), source="shop.item")


def test_equal_versions_have_one_name_and_others_their_own() -> None:
    tables = TargetTables()
    first = tables.name(ITEM)
    altered = msgspec.structs.replace(ITEM, columns=(*ITEM.columns, Column(2, "price", 246, 0x0A02)))
    second = tables.name(altered)
    assert first != second
    assert tables.name(msgspec.structs.replace(ITEM)) == first
    assert tables.table(first) == ITEM and tables.table(second) == altered


def test_a_name_that_was_not_given_is_unknown() -> None:
    with pytest.raises(KeyError):
        TargetTables().table("shop.item#0")


@pytest.mark.parametrize(("columns", "length"), [(1, 1), (8, 1), (9, 2), (17, 3)])
def test_length_of_the_null_bitmap(columns: int, length: int) -> None:
    assert TargetTable("d", "t", tuple(Column(n, f"c{n}", 3) for n in range(columns))).null_bytes == length


def test_a_statement_survives_json() -> None:
    statement = TargetStatement("ALTER TABLE", "apply", "ALTER TABLE s.item ADD c INT", "...", (("s", "item"),))
    assert msgspec.json.decode(msgspec.json.encode(statement), type=TargetStatement) == statement
