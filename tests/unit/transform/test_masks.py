"""Values that are hidden, in records that the real decoder makes."""

from __future__ import annotations

import hmac
from base64 import b64encode
from typing import Any

import pytest

from replicator.assembly.planners import Planners
from replicator.errors import ConfigError, DecodeError
from replicator.model import types
from replicator.model.table import Column, Table
from tests.unit.decode.decimal_writer import write_decimal
from tests.unit.transform.changes import ANN, BOB, USERS, Script, images, keys, run, task

KEY = "0123456789abcdef0123456789abcdef"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MASK", KEY)


def digest(text: str | bytes) -> str:
    return hmac.new(KEY.encode(), text if isinstance(text, bytes) else text.encode(), "sha256").hexdigest()


def masked(rule: dict[str, Any], script: Script | None = None) -> list[Any]:
    made = run(task(mask=[{"tables": ["shop.user"], **rule}]), script or Script().change(USERS, "insert", ANN, BOB))
    return [after for _, _, after in images(made)]


def test_a_fixed_text_and_null() -> None:
    ann, bob = masked({"columns": ["email", "age"], "fixed": 'no "x" é'})
    assert (ann["email"], ann["age"]) == ('no "x" é', 'no "x" é')
    assert bob == {"id": 2, "email": 'no "x" é', "age": None, "city": None}
    ann, bob = masked({"columns": ["email", "age"], "nullify": True})
    assert (ann["email"], ann["age"], bob["email"]) == (None, None, None)


def test_a_hash_is_the_same_in_every_image_and_over_hosts() -> None:
    script = Script().change(USERS, "update", ANN, (1, ANN[1], 42, "Rome")).change(USERS, "delete", BOB)
    rule = {"tables": ["shop.user"], "columns": ["email", "age"], "hash": "env:MASK"}
    update, delete = images(run(task(mask=[rule]), script))
    assert update[1]["email"] == update[2]["email"] == digest("ann@example.org")
    assert (update[1]["age"], update[2]["age"]) == (digest("41"), digest("42"))
    assert (delete[1]["email"], delete[1]["age"]) == (digest("bob@example.org"), None)
    assert digest("41") == hmac.digest(KEY.encode(), b"41", "sha256").hex()


def test_base64() -> None:
    ann, _ = masked({"columns": ["email"], "hash": "env:MASK", "encoding": "base64"})
    assert ann["email"] == b64encode(bytes.fromhex(digest("ann@example.org"))).decode()


def test_the_last_characters() -> None:
    rows = [(1, "4111222233334444", 1234, "日本語テスト"), (2, "444", -7, 'a"bc')]
    script = Script().change(USERS, "insert", *rows)
    first, second = masked({"columns": ["email", "age", "city"], "keep_last": 3}, script)
    assert first == {"id": 1, "email": "*" * 13 + "444", "age": "*234", "city": "***テスト"}
    assert second == {"id": 2, "email": "***", "age": "**", "city": '*"bc'}
    nothing, _ = masked({"columns": ["email"], "keep_last": 0}, script)
    assert nothing["email"] == "*" * 16


def test_other_character_sets() -> None:
    table = Table(
        "shop",
        "user",
        (Column(0, "id", types.LONG, nullable=False), Column(1, "name", types.VARCHAR, 100, collation=8)),
        (0,),
    )
    script = Script().change(table, "insert", (1, "Zoé €".encode("cp1252")))
    assert masked({"columns": ["name"], "keep_last": 3}, script) == [{"id": 1, "name": "**é €"}]
    assert masked({"columns": ["name"], "hash": "env:MASK"}, script)[0]["name"] == digest("Zoé €")


KINDS = Table(
    "shop",
    "user",
    (
        Column(0, "id", types.LONG, nullable=False),
        Column(1, "price", types.NEWDECIMAL, 10 << 8 | 2),
        Column(2, "day", types.DATE),
        Column(3, "at", types.DATETIME2, 3),
        Column(4, "seen", types.TIMESTAMP2, 0),
        Column(5, "ratio", types.DOUBLE, 8),
        Column(6, "uuid", types.STRING, 16, collation=63),
    ),
    (0,),
)


def test_what_is_hashed_of_each_type() -> None:
    at = (1 << 39 | ((2026 * 13 + 11) << 5 | 21) << 17 | 13 << 12 | 5 << 6 | 9).to_bytes(5, "big")
    row = (
        1,
        write_decimal(-1230, 10, 2),
        2026 << 9 | 11 << 5 | 21,
        at + (2500).to_bytes(2, "big"),
        (1_700_000_000).to_bytes(4, "big"),
        b"\0\0\0\0\0\0\xe0\x3f",
        b"\1\2",
    )
    columns = [column.name for column in KINDS.columns[1:]]
    (made,) = masked({"columns": columns, "hash": "env:MASK"}, Script().change(KINDS, "insert", row))
    assert list(made.values())[1:] == [
        digest(each)
        for each in (
            "-12.30",
            "2026-11-21",
            "2026-11-21 13:05:09.250",
            "2023-11-14 22:13:20",
            "0.5",
            b"\1\2" + bytes(14),
        )
    ]


def test_keys_only_by_hash_and_when_asked() -> None:
    rule = {"tables": ["shop.user"], "columns": ["id"]}
    script = Script().change(USERS, "insert", ANN)
    for more in ({"hash": "env:MASK"}, {"fixed": "x", "keys": True}, {"keep_last": 1, "keys": True}):
        with pytest.raises(DecodeError, match=r"E2310.*primary key of shop.user.*hash"):
            run(task(mask=[rule | more]), script)
    made = run(task(mask=[rule | {"hash": "env:MASK", "keys": True}]), script)
    assert keys(made) == [{"id": digest("1")}]
    assert images(made)[0][2]["id"] == digest("1")


def test_a_key_that_changes_is_still_told_by_its_values() -> None:
    rule = {"tables": ["shop.user"], "columns": ["id"], "hash": "env:MASK", "keys": True}
    made = run(task(mask=[rule]), Script().change(USERS, "update", ANN, (7, *ANN[1:])))
    assert [key["id"] for key in keys(made)] == [digest("1"), digest("1"), digest("7")]


def test_the_first_rule_for_a_column_counts() -> None:
    rules = [{"columns": ["email"], "fixed": "-"}, {"columns": ["email", "city"], "fixed": "+"}]
    config = task(mask=[{"tables": ["shop.user"], **rule} for rule in rules])
    after = images(run(config, Script().change(USERS, "insert", ANN)))[0][2]
    assert (after["email"], after["city"]) == ("-", "+")


@pytest.mark.parametrize("rule", [{"columns": ["emial"], "fixed": "-"}, {"columns": ["uuid"], "keep_last": 1}])
def test_rules_that_do_not_fit(rule: dict[str, Any]) -> None:
    row = (1, *[None] * 6)
    with pytest.raises(DecodeError, match="E2310"):
        masked(rule, Script().change(KINDS, "insert", row))


@pytest.mark.parametrize("rule", [{}, {"fixed": "x", "keep_last": 1}, {"hash": "env:A", "nullify": True}])
def test_rules_that_are_none(rule: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"E1003.*exactly one method"):
        masked({"columns": ["email"], **rule})


def test_the_key_stands_in_no_configuration_and_no_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="E1005") as raised:
        task(mask=[{"tables": ["shop.user"], "columns": ["email"], "hash": KEY}])
    assert KEY not in str(raised.value)
    config = task(mask=[{"tables": ["shop.user"], "columns": ["email"], "hash": "env:MASK"}])
    planner = Planners(config).stream
    assert "env:MASK" in repr(planner(USERS))
    assert KEY not in repr(planner(USERS))
    monkeypatch.setenv("MASK", "short")
    with pytest.raises(ConfigError, match=r"E1006.*env:MASK.*too short"):
        run(config, Script())
    monkeypatch.delenv("MASK")
    with pytest.raises(ConfigError, match=r"E1006.*MASK is not set"):
        run(config, Script())
