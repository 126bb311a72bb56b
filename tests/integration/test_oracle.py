"""The same binlog through our decoder and through mysql-replication, value by value, and both against SELECT.

Ours must equal SELECT everywhere. mysql-replication's known faults are listed with the tables that show them: it must
still differ there, so that the list stays true.
"""

from __future__ import annotations

import base64
import datetime
import ipaddress
import json
import struct
import uuid
import warnings
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pymysqlreplication import BinLogStreamReader
from pymysqlreplication.row_event import DeleteRowsEvent, UpdateRowsEvent, WriteRowsEvent

from dev.servers import Database, MariaDB, MySQL
from tests.support.decoded import decoded, new_file
from tests.support.script import run, statements

EPOCH = datetime.datetime(1970, 1, 1)
ZOO = Path(__file__).parent.parent / "support" / "type_zoo.sql"

# Faults of mysql-replication 1.0.17: `table.column` -> what it makes of it.
WRONG = {
    "year_zero.y": "1900 for 0000",
    "negative_times": "fractions of negative times",
    "padded": "BINARY without its trailing zeros",
    "wide_texts": "byte order of utf16 and ucs2, utf16le as bytes",
    "choices.g": "an empty text for members that are not in UTF-8",
    "temporal_documents.j": "opaque values of JSON cut down to ASCII",
    "old_times.t": "negative times of MariaDB's old format",
    "no_choice": "None for the empty ENUM value and the empty SET",
    "zeros.ts": "1970 for the zero TIMESTAMP",
    "zeros.ts6": "1970 for the zero TIMESTAMP",
}


class Spec(msgspec.Struct, frozen=True):
    """A column as information_schema describes it."""

    name: str
    type: str
    full: str
    scale: int


Rows = dict[int, dict[str, Any]]


def describe(server: Database, database: str, table: str) -> list[Spec]:
    columns = server.execute(
        "SELECT column_name, data_type, column_type, numeric_scale FROM information_schema.columns "
        "WHERE table_schema = %s AND table_name = %s ORDER BY ordinal_position",
        (database, table),
    )
    return [Spec(name, kind, full, scale or 0) for name, kind, full, scale in columns]


def raw_bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def single(value: float) -> bytes:
    return struct.pack("<f", value)


def moment(count: int, per_second: int) -> datetime.datetime:
    return EPOCH + datetime.timedelta(microseconds=count * 1_000_000 // per_second)


def from_debezium(spec: Spec, value: Any) -> Any:
    """A value of our record as the Python value that it stands for."""
    if value is None:
        return None
    kind = spec.type
    if kind == "bigint" and "unsigned" in spec.full:
        return value % 2**64
    if kind == "bit":
        return int(value) if isinstance(value, bool) else int.from_bytes(raw_bytes(value), "little")
    if kind == "decimal":
        unscaled = int.from_bytes(raw_bytes(value), "big", signed=True)
        return Decimal((unscaled < 0, tuple(map(int, str(abs(unscaled)))), -spec.scale))
    if kind == "datetime":
        digits = int(spec.full[9:-1] or 0) if "(" in spec.full else 0
        return moment(value, 1000 if digits <= 3 else 1_000_000)
    simple: dict[str, Callable[[Any], Any]] = {
        "float": single,
        "set": lambda text: frozenset(filter(None, text.split(","))),
        "date": lambda days: EPOCH.date() + datetime.timedelta(days=days),
        "time": lambda us: datetime.timedelta(microseconds=us),
        "timestamp": lambda text: datetime.datetime.fromisoformat(text).replace(tzinfo=None),
        "json": json.loads,
        "vector": lambda numbers: [single(number) for number in numbers],
        "uuid": lambda text: str(uuid.UUID(bytes=raw_bytes(text))),
        "inet6": lambda text: str(ipaddress.IPv6Address(raw_bytes(text))),
        "inet4": lambda text: str(ipaddress.IPv4Address(raw_bytes(text))),
    }
    if kind in SHAPES:
        return (value["srid"] or 0).to_bytes(4, "little") + raw_bytes(value["wkb"])
    if "binary" in kind or "blob" in kind:
        return raw_bytes(value)
    return simple.get(kind, lambda same: same)(value)


SHAPES = ("point", "linestring", "polygon", "geometry", "geometrycollection", "geomcollection")


def from_select(spec: Spec, value: Any) -> Any:
    """The same of what PyMySQL gives for SELECT; zero and impossible dates, which it leaves as text, are None."""
    if value is None:
        return None
    if spec.type == "bit":
        return int.from_bytes(value, "big")
    if spec.type in ("date", "datetime", "timestamp") and isinstance(value, str):
        return None
    simple: dict[str, Callable[[Any], Any]] = {
        "float": single,
        "set": lambda text: frozenset(filter(None, text.split(","))),
        "json": json.loads,
        "vector": lambda text: [bytes.fromhex(text[at : at + 8]) for at in range(0, len(text), 8)],
    }
    return simple.get(spec.type, lambda same: same)(value)


def from_oracle(spec: Spec, value: Any) -> Any:
    """The same of what mysql-replication gives."""
    if value is None:
        return None
    simple: dict[str, Callable[[Any], Any]] = {
        "bit": lambda text: int(text, 2),
        "float": single,
        "set": frozenset,
        "json": lambda found: json.loads(found) if isinstance(found, str) else text_of(found),
        "vector": lambda numbers: [single(number) for number in numbers],
        "uuid": lambda raw: str(uuid.UUID(bytes=padded(raw, 16))),
        "inet6": lambda raw: str(ipaddress.IPv6Address(padded(raw, 16))),
        "inet4": lambda raw: str(ipaddress.IPv4Address(padded(raw, 4))),
    }
    if "binary" in spec.type or "blob" in spec.type:
        return value or b""  # it gives an empty one as str
    return simple.get(spec.type, lambda same: same)(value)


def padded(raw: bytes | str, size: int) -> bytes:
    """It gives an empty value as str."""
    return (b"" if isinstance(raw, str) else raw).ljust(size, b"\0")


def text_of(value: Any) -> Any:
    """JSON of mysql-replication: its keys and strings are bytes."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, dict):
        return {text_of(key): text_of(one) for key, one in value.items()}
    if isinstance(value, list):
        return [text_of(one) for one in value]
    return value


def ours(server: Database, database: str, since: str) -> dict[str, list[dict[str, Any]]]:
    rows: dict[str, list[dict[str, Any]]] = {}
    for topic, _, value, *_ in decoded(server, "x", lambda table: table.database == database, since):
        assert value is not None
        rows.setdefault(topic.rpartition(".")[2], []).append(json.loads(value)["after"])
    return rows


def oracle(server: Database, database: str, since: str) -> dict[str, list[dict[str, Any]]]:
    rows: dict[str, list[dict[str, Any]]] = {}
    stream = BinLogStreamReader(
        {"host": server.host, "port": server.port, "user": "root", "passwd": ""},
        server_id=4_000_000_000,
        only_schemas=[database],
        only_events=[WriteRowsEvent],
        log_file=since,
        log_pos=4,
        is_mariadb=False,  # with True it would ignore file and position
        resume_stream=True,
        enable_logging=False,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for event in stream:
            rows.setdefault(event.table, []).extend(row["values"] for row in event.rows)
        stream.close()
    return rows


def selected(server: Database, database: str, table: str, specs: list[Spec]) -> list[dict[str, Any]]:
    """Numbers as doubles, as the text of FLOAT has six digits only and that of DOUBLE(M,D) is rounded; vectors in hex,
    as PyMySQL does not know them."""
    forms = {"float": "`{}` + 0e0", "double": "`{}` + 0e0", "vector": "HEX(`{}`)"}
    columns = ", ".join(forms.get(spec.type, "`{}`").format(spec.name) for spec in specs)
    rows = server.execute(f"SELECT {columns} FROM `{database}`.`{table}` ORDER BY id")
    return [dict(zip((spec.name for spec in specs), row, strict=True)) for row in rows]


class Place(msgspec.Struct, frozen=True):
    server: Database
    database: str
    since: str
    """The binlog file in which the database begins."""

    def fill(self, *sections: str) -> None:
        kind = "mariadb" if isinstance(self.server, MariaDB) else "mysql"
        chosen = {section.format(kind) for section in sections}
        run(self.server, statements(ZOO, only=chosen), database=self.database)


@pytest.fixture(params=["mysql", "mariadb"])
def place(request: pytest.FixtureRequest) -> Place:
    server = request.getfixturevalue(request.param)
    database = request.getfixturevalue("database" if request.param == "mysql" else "mariadb_database")
    assert isinstance(server, (MySQL, MariaDB))
    return Place(server, str(database), new_file(server))


def test_every_value_is_the_servers(place: Place) -> None:
    place.fill("both", "json", "{}", "beyond_both", "beyond_{}")
    server, database = place.server, place.database
    found = ours(server, database, place.since)
    tables = [str(name) for (name,) in server.execute(f"SHOW TABLES FROM {database}")]
    assert sorted(found) == sorted(tables)
    wrong = []
    for table in tables:
        specs = describe(server, database, table)
        truth = selected(server, database, table, specs)
        assert len(truth) == len(found[table]), table
        for row, expected in zip(found[table], truth, strict=True):
            assert list(row) == [spec.name for spec in specs]
            for spec in specs:
                mine, right = from_debezium(spec, row[spec.name]), from_select(spec, expected[spec.name])
                if mine != right:
                    wrong.append(f"{table}.{spec.name} of row {expected['id']}: {str(mine)[:99]} not {str(right)[:99]}")
    assert not wrong, "\n".join(wrong)


def test_mysql_replication_agrees_where_it_is_right(place: Place) -> None:
    """The sections `beyond_*` have values that end its stream: utf32, impossible dates, VECTOR, long times in JSON."""
    place.fill("both", "json", "{}")
    server, database = place.server, place.database
    found, other = ours(server, database, place.since), oracle(server, database, place.since)
    assert sorted(found) == sorted(other)
    differ: dict[str, str] = {}
    for table in other:
        rows = found[table]
        specs = describe(server, database, table)
        assert len(rows) == len(other[table]), table
        for row, expected in zip(rows, other[table], strict=True):
            for spec in specs:
                mine, its = from_debezium(spec, row[spec.name]), from_oracle(spec, expected.get(spec.name, "absent"))
                if mine != its:
                    differ[f"{table}.{spec.name}"] = f"{str(mine)[:99]} and {str(its)[:99]}"
    surprising = {
        name: text for name, text in differ.items() if name not in WRONG and name.partition(".")[0] not in WRONG
    }
    assert not surprising, "\n".join(f"{name}: {text}" for name, text in surprising.items())
    wrong = {name for name in WRONG if name.partition(".")[0] in found}
    agreed = {name for name in wrong if not any(name in (column, column.partition(".")[0]) for column in differ)}
    assert not agreed, f"mysql-replication has become right: {agreed}"


def test_images_of_updates_and_deletes_agree(place: Place) -> None:
    """Each table of the zoo with its keys moved, and then emptied."""
    place.fill("both")
    server, database = place.server, place.database
    tables = [str(name) for (name,) in server.execute(f"SHOW TABLES FROM {database}")]
    since = new_file(server)
    for table in tables:
        server.execute(f"UPDATE {database}.{table} SET id = id + 1000 ORDER BY id DESC")
        server.execute(f"DELETE FROM {database}.{table} ORDER BY id")
    found, other = our_images(server, database, since), oracle_images(server, database, since)
    assert sorted(found) == sorted(other) == sorted(tables)
    for table in tables:
        assert len(found[table]) == len(other[table]), table
        for mine, its in zip(found[table], other[table], strict=True):
            for spec in describe(server, database, table):
                if not {table, f"{table}.{spec.name}"} & WRONG.keys():
                    assert from_debezium(spec, mine[spec.name]) == from_oracle(spec, its[spec.name]), (table, spec)


def our_images(server: Database, database: str, since: str) -> dict[str, list[dict[str, Any]]]:
    """An update of the key is a delete and an insert."""
    images: dict[str, list[dict[str, Any]]] = {}
    for topic, _, value, *_ in decoded(server, "x", lambda table: table.database == database, since):
        if value is not None:
            payload = json.loads(value)
            images.setdefault(topic.rpartition(".")[2], []).append(payload["after"] or payload["before"])
    return images


def oracle_images(server: Database, database: str, since: str) -> dict[str, list[dict[str, Any]]]:
    images: dict[str, list[dict[str, Any]]] = {}
    stream = BinLogStreamReader(
        {"host": server.host, "port": server.port, "user": "root", "passwd": ""},
        server_id=4_000_000_001,
        only_schemas=[database],
        only_events=[UpdateRowsEvent, DeleteRowsEvent],
        log_file=since,
        log_pos=4,
        is_mariadb=False,
        resume_stream=True,
        enable_logging=False,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for event in stream:
            for row in event.rows:
                parts = ("before_values", "after_values") if isinstance(event, UpdateRowsEvent) else ("values",)
                images.setdefault(event.table, []).extend(row[part] for part in parts)
        stream.close()
    return images
