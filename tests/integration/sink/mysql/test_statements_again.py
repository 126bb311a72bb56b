"""Statements that a task meets once more because an operator wants it so are executed again."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

from replicator.sink.mysql.ddl import Noted
from replicator.sink.mysql.transaction import Transaction
from tests.integration.sink.mysql.test_statements import Copy, made
from tests.support.present import present

pytestmark = [pytest.mark.servers, pytest.mark.timeout(120)]


@pytest.fixture(params=["mysql", "mariadb"])
def same(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Copy]:
    yield from made(request, monkeypatch, request.param, request.param)


def test_a_statement_is_executed_again_after_its_position_was_set_back(same: Copy) -> None:
    same.both("CREATE TABLE t (id INT PRIMARY KEY)")
    same.begin()
    before = present(same.store.load())
    same.at_source("INSERT INTO t VALUES (1)", "TRUNCATE TABLE t", "INSERT INTO t VALUES (2)")
    same.run()
    same.equal("t")
    same.at_target("DELETE FROM t")  # as in a backup
    now = present(same.store.load())
    earlier = msgspec.structs.replace(before.position, reset=now.position.reset + 1)
    same.store.save(msgspec.structs.replace(now, position=earlier, in_sink=None))
    same.run()
    same.equal("t")


def test_a_statement_is_executed_for_a_task_that_was_created_again(same: Copy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its predecessor ended right behind the statement, before the next position."""
    notes: list[bytes] = []
    original = Transaction.note

    def note(self: Transaction, text: bytes) -> int:
        notes.append(text)
        return original(self, text)

    monkeypatch.setattr(Transaction, "note", note)
    same.both("CREATE TABLE t (id INT PRIMARY KEY)")
    same.begin()
    before = present(same.store.load())
    same.at_source("INSERT INTO t VALUES (1)", "TRUNCATE TABLE t")
    same.run()
    done = msgspec.structs.replace(msgspec.json.decode(notes[-1], type=Noted), uid="another")
    text = msgspec.json.encode(done).decode()
    same.target.execute(f"UPDATE {same.place}.replicator_position SET statement = '{text}'")
    now = present(same.store.load())
    earlier = msgspec.structs.replace(before.position, reset=now.position.reset + 1)
    same.store.save(msgspec.structs.replace(now, position=earlier, in_sink=None))
    same.run()
    same.equal("t")
