import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.decode.binlog import event_types
from replicator.decode.binlog import table_map as table_maps
from replicator.decode.binlog.framing import FileFraming
from replicator.errors import DecodeError
from replicator.model import types
from replicator.model.table import Column, Table
from tests.data.binlog import read
from tests.unit.decode.binlog_writer import table_map

NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)
NUMBERS = [(types.TINY, 0), (types.LONG, 0), (types.YEAR, 0), (types.NEWDECIMAL, 10 << 8 | 2), (types.DOUBLE, 8)]
OTHERS = [
    (types.VARCHAR, 300),
    (types.STRING, 1020),
    (types.STRING, 3),
    (types.BLOB, 2),
    (types.DATETIME2, 6),
    (types.BIT, 257),
]


@st.composite
def tables(draw):
    kinds = draw(st.lists(st.sampled_from(NUMBERS + OTHERS), min_size=1, max_size=30))
    columns = tuple(
        Column(index, draw(NAMES), kind, meta, draw(st.booleans()), (kind, meta) in NUMBERS and draw(st.booleans()))
        for index, (kind, meta) in enumerate(kinds)
    )
    key = draw(st.lists(st.integers(0, len(columns) - 1), unique=True, max_size=3))
    return Table(draw(NAMES), draw(NAMES), columns, tuple(key))


@given(tables())
def test_what_is_written_is_read(table):
    assert table_maps.parse(table_map(table)[6:], mariadb=False) == table_maps.TableMap(table, True)


@given(tables(), st.data())
def test_damage_is_an_error_for_people(table, data):
    raw = bytearray(table_map(table)[6:])
    for _ in range(data.draw(st.integers(0, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    try:
        table_maps.parse(bytes(raw[: data.draw(st.integers(0, len(raw)))]), mariadb=data.draw(st.booleans()))
    except DecodeError as error:
        assert error.code in ("E2302", "E2307")


def recorded(case):
    """The table maps of a recorded file, by name."""
    found = {}
    for b, start, end in FileFraming().split(read(case)):
        if b[start + 4] == event_types.TABLE_MAP:
            mapped = table_maps.parse(b[start + 25 : end - 4], mariadb=case.startswith("mariadb"))
            found[mapped.table.qualified] = mapped
    return found


@pytest.mark.parametrize("case", ["mysql_transactions", "mariadb_transactions"])
def test_every_type_of_a_real_server(case):
    table = recorded(case)["shop.t"].table
    assert [(column.name, column.type, column.meta) for column in table.columns] == [
        ("id", types.LONG, 0),
        ("y", types.YEAR, 0),
        ("i", types.LONG, 0),
        ("n", types.LONG, 0),
        ("name", types.VARCHAR, 200),
        ("big", types.LONGLONG, 0),
        ("d", types.NEWDECIMAL, 10 << 8 | 2),
        ("ts", types.TIMESTAMP2, 3),
        ("e", types.ENUM, 1),
        ("s", types.SET, 1),
        ("bl", types.BLOB, 2),
        ("c", types.STRING, 40),
        ("bt", types.BIT, 1 << 8 | 1),
        ("f", types.FLOAT, 4),
        ("db", types.DOUBLE, 8),
        ("tm", types.TIME2, 2),
        ("dt", types.DATETIME2, 0),
        ("da", types.DATE, 0),
        ("l", types.BLOB, 4),
        ("p", types.GEOMETRY, 4),
    ]
    by_name = {column.name: column for column in table.columns}
    assert [name for name, column in by_name.items() if column.unsigned and name != "y"] == ["n", "big"]
    assert [name for name, column in by_name.items() if not column.nullable] == ["id", "big"]
    assert by_name["e"].members == ("a", "ü")
    assert by_name["s"].members == ("x", "y")
    assert (by_name["e"].collation, by_name["l"].collation, by_name["bl"].collation) == (8, 8, types.BINARY_COLLATION)
    assert by_name["name"].collation == (45 if case.startswith("mariadb") else 255)
    assert by_name["p"].geometry == 1
    assert table.primary_key == (0,)


def test_key_prefixes_invisible_columns_and_vectors():
    table = recorded("mysql_transactions")["shop.v"].table
    assert table.primary_key == (1,)
    assert [column.visible for column in table.columns] == [False, True, True, True]
    assert table.columns[1].collation == 8
    assert table.columns[2].dimensions == 2
    assert table.columns[3].type == types.JSON


def test_mariadbs_own_types_do_not_shift_collations():
    table = recorded("mariadb_transactions")["shop.v"].table
    assert [column.collation for column in table.columns] == [63, 8, 63, 45]
    assert table.primary_key == (0, 1)


def test_minimal_metadata_has_no_names():
    mapped = recorded("mysql_metadata")["shop.t"]
    assert not mapped.named
    assert mapped.table.columns[0].name == "@1"
