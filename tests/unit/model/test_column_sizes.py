"""What a table map's metadata says of the sizes of values, and what it can't say."""

import pytest

from replicator.errors import DecodeError
from replicator.model import column_sizes, types
from replicator.model.table import Column, Table


def column(kind, meta):
    return Column(0, "c", kind, meta)


@pytest.mark.parametrize(
    ("kind", "meta", "size"),
    [
        (types.LONG, 0, 4),
        (types.DOUBLE, 8, 8),
        (types.ENUM, 2, 2),
        (types.SET, 8, 8),
        (types.DATETIME2, 5, 8),
        (types.NEWDECIMAL, 65 << 8 | 30, 30),
        (types.BIT, 7 << 8 | 7, 8),
        (types.BIT, 8 << 8, 8),
        (types.VARCHAR, 300, None),
        (types.BLOB, 3, None),
    ],
)
def test_sizes(kind, meta, size):
    assert column_sizes.fixed_size(column(kind, meta)) == size


@pytest.mark.parametrize(
    ("kind", "meta", "found", "wanted"),
    [
        (types.FLOAT, 8, "values of 8 bytes", "4 bytes"),
        (types.DOUBLE, 251, "values of 251 bytes", "8 bytes"),
        (types.ENUM, 3, "values of 3 bytes", "1 or 2 bytes"),
        (types.SET, 5, "values of 5 bytes", "1 or 2 or 3 or 4 or 8 bytes"),
        (types.BLOB, 0, "lengths of 0 bytes", "1 or 2 or 3 or 4 bytes"),
        (types.TIME2, 7, "a fraction of 7 digits", "at most 6"),
        (types.BIT, 8 << 8 | 1, "8 bytes and 1 bits", "at most 8 bytes"),
        (types.BIT, 9, "0 bytes and 9 bits", "at most 8 bytes"),
        (types.NEWDECIMAL, 2 << 8 | 3, "DECIMAL(2,3)", "a scale <= precision <= 65"),
        (types.NEWDECIMAL, 66 << 8, "DECIMAL(66,0)", "a scale <= precision <= 65"),
    ],
)
def test_what_cannot_be(kind, meta, found, wanted):
    with pytest.raises(DecodeError) as caught:
        column_sizes.check(Table("shop", "t", (column(types.LONG, 0), column(kind, meta))))
    error = caught.value
    assert (error.code, error.found, error.wanted) == ("E2302", found, wanted)
    assert error.what == f"a table map has invalid metadata for column 'c' ({types.NAMES[kind]})"


def test_an_unknown_type():
    with pytest.raises(DecodeError) as caught:
        column_sizes.fixed_size(column(200, 0))
    assert caught.value.code == "E2301"
