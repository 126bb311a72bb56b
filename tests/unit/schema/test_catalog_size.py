"""Records of the schema history: how they become one base, and what is kept."""

from __future__ import annotations

import msgspec
import pytest

from replicator.errors import DecodeError, ProcessError, SessionRenewed
from replicator.model import types
from replicator.schema.history import COMPACT, History
from replicator.schema.manual_definitions import manual_definition
from tests.support.schema_history import (
    CREATE,
    LATER,
    Task,
    described,
    event,
    reading,
)


def test_many_records_end_the_session_and_become_a_base() -> None:
    task = Task()
    task.say(1, CREATE)
    number = 2
    with pytest.raises(SessionRenewed):
        for number in range(2, 2 * COMPACT):
            task.say(number, f"ALTER TABLE t COMMENT '{number}'")
    assert len(task.store.records) == number == COMPACT + 1
    again = task.at(number)
    assert len(task.store.records) == 1
    task.say(number, "ALTER TABLE t RENAME COLUMN v TO w", again)
    assert described(again) == ["id", "w"]


def test_what_lies_behind_the_position_is_kept() -> None:
    task = Task()
    task.say(1, CREATE)
    for number in range(2, COMPACT - 10):
        task.say(number, f"ALTER TABLE t COMMENT '{number}'")
    again = task.at(COMPACT - 10)
    for number in range(COMPACT - 10, COMPACT + 20):
        task.say(number, f"ALTER TABLE t COMMENT '{number}'", again)
    assert described(task.at(COMPACT + 10)) == ["id", "v"]
    assert len(task.store.records) == 1
    assert len(task.store.records[0].ahead) == 10
    assert described(task.at(COMPACT + 10)) == ["id", "v"]


def test_definitions_of_a_later_position_outlive_a_base() -> None:
    task = Task(reading(5000, *LATER), (4000, "ALTER TABLE u RENAME COLUMN y TO x"))
    for number in range(1, COMPACT + 1):
        task.say(number, f"CREATE TABLE t{number} (id INT)")
    again = task.at(COMPACT + 1)
    assert len(task.store.records) == 1
    for catalog in (again, task.at(COMPACT + 2)):
        assert described(catalog) == ["id", "w"]
        assert described(catalog, event(types.LONG, name="t7")) == ["id"]
        with pytest.raises(DecodeError, match=r"E2306.*:400000"):
            described(catalog, event(types.LONG, name="u"))
    task.say(4000, "ALTER TABLE u RENAME COLUMN y TO x", again)
    assert described(again, event(types.LONG, name="u")) == ["x"]
    task.say(5000, "ALTER TABLE u RENAME COLUMN x TO z", again)
    for catalog in (again, task.at(5001)):
        assert described(catalog) == ["id", "w"]
        assert described(catalog, event(types.LONG, name="u")) == ["z"]
        assert described(catalog, event(types.LONG, name="t7")) == ["id"]


def test_what_an_operator_told_before_the_first_session_does_not_take_the_place_of_a_base() -> None:
    task = Task(reading(1, LATER[1]))
    task.store.records.clear()
    statement = "CREATE TABLE d.t (id INT, told VARCHAR(5))"
    task.store.append(manual_definition(History(task.store, mariadb=False), statement, task.position(1)))
    catalog = task.at(1)
    assert described(catalog) == ["id", "told"]
    assert described(catalog, event(types.LONG, name="u")) == ["x"]


def test_what_nobody_wrote_is_refused() -> None:
    task = Task()
    task.store.records[0] = msgspec.structs.replace(task.store.records[0], data=b"garbage")
    with pytest.raises(ProcessError, match="E5014"):
        task.at(1)
