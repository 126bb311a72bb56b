"""Random tables and what happens to them, as SQL: for tests that rebuild tables from records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from hypothesis import strategies as st

Draw = Callable[[st.SearchStrategy[Any]], Any]


def quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _texts(alphabet: str, most: int) -> st.SearchStrategy[str]:
    return st.text(st.sampled_from(alphabet), max_size=most).map(quoted)


def _numbers(low: int, high: int) -> st.SearchStrategy[str]:
    return (st.sampled_from([low, high, 0, 1]) | st.integers(low, high)).map(str)


def _binary(most: int) -> st.SearchStrategy[str]:
    return st.binary(max_size=most).map(lambda raw: f"X'{raw.hex()}'")


def _moments(fraction: int) -> st.SearchStrategy[str]:
    digits = st.integers(0, 10**fraction - 1).map(lambda number: f".{number:0{fraction}d}" if fraction else "")
    return st.builds(
        lambda moment, end: f"'{moment:%Y-%m-%d %H:%M:%S}{end}'",
        st.datetimes(min_value=_datetime(1971), max_value=_datetime(2037)).map(lambda at: at.replace(microsecond=0)),
        digits,
    )


def _datetime(year: int) -> Any:
    import datetime

    return datetime.datetime(year, 1, 2)


_LATIN: Final = "abcXYZ 019'\"\\éß{}[]%_"
_WIDE: Final = _LATIN + "字😀\u2028€\x01\n\t"
_DOCUMENTS: Final = st.sampled_from(
    [
        '{"a": 1, "b": [1, 2, 3], "c": {"d": "e"}}',
        "[]",
        '{"a": "é\\"😀"}',
        "17",
        '"x"',
        '[{"a": 1.5}, true, null]',
        "{}",
    ]
)

TYPES: Final[dict[str, st.SearchStrategy[str]]] = {
    "TINYINT": _numbers(-128, 127),
    "SMALLINT UNSIGNED": _numbers(0, 65535),
    "MEDIUMINT": _numbers(-(2**23), 2**23 - 1),
    "INT": _numbers(-(2**31), 2**31 - 1),
    "BIGINT": _numbers(-(2**63), 2**63 - 1),
    "BIGINT UNSIGNED": _numbers(0, 2**64 - 1),
    "DECIMAL(10,2)": _numbers(-(10**9), 10**9).map(lambda text: f"{text}e-2"),
    "DECIMAL(38,10)": _numbers(-(10**37), 10**37).map(lambda text: f"{text}e-10"),
    "DOUBLE": st.floats(-1e15, 1e15, allow_nan=False).map(repr),
    "VARCHAR(60) CHARACTER SET utf8mb4": _texts(_WIDE, 14),
    "VARCHAR(300) CHARACTER SET latin1": _texts(_LATIN, 40),
    "VARCHAR(20) CHARACTER SET utf16": _texts(_WIDE, 9),
    "TEXT CHARACTER SET utf8mb4": _texts(_WIDE, 60),
    "CHAR(10) CHARACTER SET utf8mb4": _texts("abé字x", 10),
    "VARBINARY(30)": _binary(30),
    "BINARY(5)": _binary(5),
    "BLOB": _binary(300),
    "DATE": st.dates(min_value=_datetime(1000).date()).map(lambda day: f"'{day}'"),
    "TIME(3)": st.builds(
        lambda sign, hours, rest: f"'{sign}{hours}:{rest // 1000 % 60:02d}:{rest // 60000:02d}.{rest % 1000:03d}'",
        st.sampled_from(["", "-"]),
        st.integers(0, 838),
        st.integers(0, 3_599_000),
    ),
    "DATETIME(6)": _moments(6),
    "DATETIME": _moments(0),
    "TIMESTAMP(3) NULL": _moments(3),
    "YEAR": st.integers(1901, 2155).map(str),
    "BIT(9)": _numbers(0, 511),
    "ENUM('a','bé','c')": st.sampled_from(["'a'", "'bé'", "'c'"]),
    "SET('x','y','z')": st.sampled_from(["''", "'x'", "'x,z'", "'x,y,z'"]),
    "JSON": _DOCUMENTS.map(quoted),
}
_KEYS: Final = ("id", "k")
_DOCUMENT_CHANGES: Final = (
    "JSON_SET({0}, '$.a', 5)",
    "JSON_REMOVE({0}, '$.b')",
    "JSON_REPLACE({0}, '$.c', JSON_ARRAY(1, 'two'))",
    "JSON_SET({0}, '$.b[1]', 'x', '$.new', 2)",
)


@dataclass
class Table:
    """`columns`: type by name; `keys`: of the primary key; `made`: names that were ever used."""

    name: str
    columns: dict[str, str]
    keys: tuple[str, ...]
    generated: str = ""
    made: int = field(default=0)

    def create(self, draw: Draw) -> str:
        parts = []
        for name, kind in self.columns.items():
            bound = name in self.keys or (name not in _KEYS and draw(st.integers(0, 3)) == 0)
            parts.append(f"{name} {kind}" + (" NOT NULL" if bound and "NULL" not in kind else ""))
        if self.generated:
            parts.append(self.generated)
        if self.keys:
            parts.append(f"PRIMARY KEY ({', '.join(self.keys)})")
        return f"CREATE TABLE {self.name} ({', '.join(parts)})"


_KEY_TYPES: Final = {"id": "INT", "k": "VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"}
_KEY_VALUES: Final = {
    "id": st.integers(1, 9).map(str),
    "k": st.sampled_from(["''", "'a'", "'é'", "'b\\'\"'", "'字'"]),
}


@st.composite
def programs(draw: Draw) -> list[str]:
    """Statements, the CREATE TABLEs first. Some of them fail, as a value or a key does not fit."""
    tables = [_table(draw, f"t{number}") for number in range(draw(st.integers(1, 2)))]
    found = [table.create(draw) for table in tables]
    for _ in range(draw(st.integers(4, 14))):
        table = draw(st.sampled_from(tables))
        choice = draw(st.integers(0, 9))
        if choice == 0 and table.keys:
            found.append(_alter(draw, table))
        elif choice <= 3:
            found += _transaction(draw, tables)
        else:
            found.append(_change(draw, table))
    return found


def _table(draw: Draw, name: str) -> Table:
    keys = draw(st.sampled_from([("id",), ("id", "k"), ("k", "id"), ()]))
    columns = {key: _KEY_TYPES[key] for key in keys}
    chosen = draw(st.lists(st.sampled_from(sorted(TYPES)), min_size=1, max_size=9))
    columns |= {f"c{at}": kind for at, kind in enumerate(chosen)}
    kind = draw(st.sampled_from(["", "STORED", "VIRTUAL"])) if "id" in keys else ""
    return Table(name, columns, keys, f"g BIGINT AS (id * 3) {kind}" if kind else "", len(chosen))


def _transaction(draw: Draw, tables: list[Table]) -> list[str]:
    def changes(least: int) -> list[str]:
        return [_change(draw, draw(st.sampled_from(tables))) for _ in range(draw(st.integers(least, 3)))]

    if draw(st.integers(0, 5)) == 0:
        end = draw(st.sampled_from([["XA COMMIT 'x' ONE PHASE"], ["XA PREPARE 'x'", "XA COMMIT 'x'"]]))
        return ["XA START 'x'", *changes(1), "XA END 'x'", *end]
    middle = changes(0)
    if draw(st.booleans()):
        back = draw(st.sampled_from(["ROLLBACK TO s", "RELEASE SAVEPOINT s"]))
        middle += ["SAVEPOINT s", *changes(1), back, *changes(0)]
    return ["BEGIN", *middle, draw(st.sampled_from(["COMMIT", "COMMIT", "ROLLBACK"]))]


def _value(draw: Draw, table: Table, column: str) -> str:
    if column in table.keys:
        return str(draw(_KEY_VALUES[column]))
    return "NULL" if draw(st.integers(0, 4)) == 0 else str(draw(TYPES[table.columns[column]]))


def _change(draw: Draw, table: Table) -> str:
    choice = draw(st.integers(0, 6))
    if choice <= 2:
        names = list(table.columns)
        rows = [[_value(draw, table, name) for name in names] for _ in range(draw(st.integers(1, 4)))]
        values = ", ".join(f"({', '.join(row)})" for row in rows)
        verb = draw(st.sampled_from(["INSERT", "INSERT IGNORE", "REPLACE"]))
        again = " ON DUPLICATE KEY UPDATE " + _assignments(draw, table) if verb == "INSERT" and table.keys else ""
        return f"{verb} INTO {table.name} ({', '.join(names)}) VALUES {values}" + (again if draw(st.booleans()) else "")
    if choice == 3:
        return f"DELETE FROM {table.name}{_where(draw, table)}"
    if choice == 4 and "id" in table.keys:
        return f"UPDATE {table.name} SET id = id + {draw(st.integers(1, 3))}{_where(draw, table)} ORDER BY id DESC"
    return f"UPDATE {table.name} SET {_assignments(draw, table)}{_where(draw, table)}"


def _assignments(draw: Draw, table: Table) -> str:
    names = draw(st.lists(st.sampled_from(sorted(set(table.columns) - set(table.keys))), min_size=1, max_size=3))
    parts = []
    for name in dict.fromkeys(names):
        change = draw(st.sampled_from(_DOCUMENT_CHANGES)).format(name)
        partly = table.columns[name] == "JSON" and draw(st.booleans())
        parts.append(f"{name} = {change if partly else _value(draw, table, name)}")
    return ", ".join(parts)


def _where(draw: Draw, table: Table) -> str:
    if not table.keys or draw(st.integers(0, 4)) == 0:
        return draw(st.sampled_from(["", " LIMIT 1"])) if not table.keys else ""
    key = draw(st.sampled_from(table.keys))
    return f" WHERE {key} = {_value(draw, table, key)}"


def _alter(draw: Draw, table: Table) -> str:
    choice = draw(st.integers(0, 2))
    plain = sorted(set(table.columns) - set(table.keys))
    if choice == 0 and len(plain) > 1:
        name = draw(st.sampled_from(plain))
        del table.columns[name]
        return f"ALTER TABLE {table.name} DROP COLUMN {name}"
    if choice == 1 and (narrow := [name for name in plain if table.columns[name] in ("INT", "TINYINT")]):
        name = draw(st.sampled_from(narrow))
        table.columns[name] = "BIGINT"
        return f"ALTER TABLE {table.name} MODIFY COLUMN {name} BIGINT"
    table.made += 1
    name, kind = f"c{table.made}", draw(st.sampled_from(sorted(TYPES)))
    table.columns[name] = kind
    return f"ALTER TABLE {table.name} ADD COLUMN {name} {kind}{draw(st.sampled_from(['', ' FIRST']))}"
