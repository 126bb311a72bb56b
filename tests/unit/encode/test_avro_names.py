"""Names as Debezium adjusts them."""

from __future__ import annotations

import pytest

from replicator.config.avro import Adjustment
from replicator.encode.avro.names import adjusted, fits


@pytest.mark.parametrize(
    ("name", "mode", "expected"),
    [
        ("plain_1", "avro", "plain_1"),
        ("a-b c", "avro", "a_b_c"),
        ("1st", "avro", "_1st"),
        ("a.b", "avro", "a_b"),
        ("straße", "avro", "stra_e"),
        ("😀", "avro", "__"),
        ("plain", "avro_unicode", "plain"),
        ("a_b", "avro_unicode", "a_u005fb"),
        ("1st", "avro_unicode", "_u0031st"),
        ("λ", "avro_unicode", "_u3bb"),
        ("名", "avro_unicode", "_u540d"),
        ("a-b", "none", "a-b"),
    ],
)
def test_names_of_fields(name: str, mode: Adjustment, expected: str) -> None:
    assert adjusted(name, mode) == expected
    assert fits(expected) is (mode != "none")


def test_names_of_schemas_keep_their_points() -> None:
    assert adjusted("7up.my-db.t.Envelope", "avro", dots=True) == "_7up.my_db.t.Envelope"
    assert adjusted("shop.123..t", "avro", dots=True) == "shop._123._.t"
    assert adjusted("up.my_db.t", "avro_unicode", dots=True) == "up.my_u005fdb.t"
    assert fits("_7up.my_db.t.Envelope", dots=True)
    assert not fits("a.b")
    assert not fits("shop.123.Key", dots=True)
