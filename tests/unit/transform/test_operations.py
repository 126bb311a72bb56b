"""Operations that become no record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from replicator.errors import ConfigError
from replicator.model.metadata_event import Message, Moment, Statement, TableChange, Verb
from replicator.pipeline.ports import Interest
from replicator.transform.chain import Chain
from tests.unit.transform.changes import ANN, USERS, Script, images, run, task

SCRIPT = (
    Script()
    .change(USERS, "insert", ANN)
    .change(USERS, "update", ANN, (1, "x", 1, "Rome"), ANN, (7, *ANN[1:]))
    .change(USERS, "delete", ANN)
)


@pytest.mark.parametrize(
    ("skip", "ops"),
    [
        (["insert"], ["u", "d", "c", "d"]),
        (["update"], ["c", "d"]),
        (["delete"], ["c", "u", "d", "c"]),
        (["insert", "update", "delete"], []),
        (["truncate"], ["c", "u", "d", "c", "d"]),
    ],
)
def test_what_is_left(skip: list[str], ops: list[str]) -> None:
    made = run(task(operations=[{"tables": ["shop.*"], "skip": skip}]), SCRIPT)
    assert [op for op, _, _ in images(made)] == ops


def test_rules_add_up_and_other_tables_stay() -> None:
    rules: list[dict[str, list[str]]] = [
        {"skip": ["insert"]},
        {"tables": ["shop.user"], "skip": ["delete"]},
        {"tables": ["shop.a"], "skip": ["update"]},
    ]
    assert [op for op, _, _ in images(run(task(operations=rules), SCRIPT))] == ["u", "d", "c"]


def test_row_numbers_stay() -> None:
    script = Script().change(USERS, "update", ANN, (1, "x", 1, "Rome"), ANN, (7, *ANN[1:]))
    assert [record[4] for record in run(task(operations=[{"skip": ["update"]}]), script)] == []
    made = run(task(operations=[{"skip": ["insert"]}]), script)
    assert [record[4] for record in made] == [0, 1, 1, 1]


def test_operations_that_are_none() -> None:
    with pytest.raises(ConfigError, match="E1003"):
        task(operations=[{"skip": ["upsert"]}])
    with pytest.raises(ConfigError, match="E1003"):
        task(operations=[{"skip": []}])


class Telling:
    """A narrator that repeats statements."""

    interests: frozenset[Interest] = frozenset({"statement", "transaction", "query", "heartbeat"})

    def statement(self, statement: Statement, moment: Moment) -> Sequence[Message]:
        return (Message("t", None, statement.text.encode()),)

    def begin(self, moment: Moment) -> Sequence[Message]:
        return (Message("t", None, b"begin"),)

    def end(self, moment: Moment, rows: Mapping[tuple[str, str], int]) -> Sequence[Message]:
        return (Message("t", None, b"end"),)

    def query(self, text: str, moment: Moment) -> Sequence[Message]:
        return (Message("t", None, b"query"),)

    def heartbeat(self, moment: Moment) -> Sequence[Message]:
        return (Message("t", None, b"heartbeat"),)


def test_truncate_is_a_statement() -> None:
    moment = Moment(0, 0, 0, "", "", "f", 4, 5, 1)
    chain = Chain(task(operations=[{"tables": ["shop.user"], "skip": ["truncate"]}]).transforms)
    narrator = chain.narrator(Telling())
    said: list[Message] = []
    given: tuple[tuple[Verb, str], ...] = (("TRUNCATE", "user"), ("TRUNCATE", "other"), ("DROP", "user"))
    for verb, name in given:
        statement = Statement("shop", f"{verb} {name}", f"{verb} TABLE", (TableChange(verb, "shop", name),))
        said += narrator.statement(statement, moment)
    said += [*narrator.begin(moment), *narrator.query("", moment)]
    said += [*narrator.end(moment, {}), *narrator.heartbeat(moment)]
    assert [message.value for message in said] == [
        b"TRUNCATE other",
        b"DROP user",
        b"begin",
        b"query",
        b"end",
        b"heartbeat",
    ]
    assert narrator.interests == Telling.interests
    for text, kept in (("truncate `user`", 0), ("TRUNCATE TABLE shop.other", 1), ("TRUNCATE other.user", 1)):
        assert len(narrator.statement(Statement("shop", text, "TRUNCATE TABLE"), moment)) == kept, text
    inner = Telling()
    assert Chain(task().transforms).narrator(inner) is inner


@pytest.mark.parametrize(
    "hiding",
    [
        {"columns": [{"tables": ["shop.a"], "exclude": ["x"]}]},
        {"mask": [{"tables": ["shop.a"], "columns": ["x"], "fixed": ""}]},
        {"filter": [{"tables": ["shop.a"], "where": "x = 1"}]},
    ],
)
def test_statements_behind_rows_are_not_told_where_something_is_hidden(hiding: dict[str, Any]) -> None:
    assert Chain(task(**hiding).transforms).narrator(Telling()).interests == Telling.interests - {"query"}
