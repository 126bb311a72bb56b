"""Tables are compared by topic; what is finished is not compared again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest

from replicator.errors import ProcessError, SinkUnavailable
from replicator.verify.report import TableResult
from replicator.verify.state import StateFile
from replicator.verify.topics.columns import Columns
from replicator.verify.topics.groups import TopicGroups
from replicator.verify.topics.ports import TopicTable
from replicator.verify.topics.verifier import TopicVerifier
from replicator.verify.verifier import Wanted


def table(name: str, topic: str) -> TopicTable:
    return TopicTable(Wanted(f"shop.{name}", f"shop.{name}", 1, 1), Columns(0, ["id"], ["id"]), ("shop", name), topic)


class Compared:
    """The verifier of groups, and what it was asked for. `broken`: the table at which it fails."""

    def __init__(self, broken: str = "") -> None:
        self.begun: list[str] = []
        self.groups: list[list[str]] = []
        self.broken = broken

    def run(self, tables: Sequence[TopicTable | Wanted], count: int) -> list[TableResult]:
        names = [each.wanted.table if isinstance(each, TopicTable) else each.table for each in tables]
        self.groups.append(names)
        if self.broken in names:
            raise SinkUnavailable("E3001", "gone")
        return [TableResult(name, name) for name in names]


TABLES: list[TopicTable | Wanted] = [
    table("a", "one"),
    table("b", "two"),
    Wanted("shop.v", "shop.v", 0, 0, "a view"),
    table("c", "one"),
]


def run(compared: Compared, path: Path | None, task: str = "copy") -> list[str]:
    groups = TopicGroups(cast(TopicVerifier, compared), compared.begun.extend, StateFile(path, task))
    return [each.table for each in groups.run(TABLES)]


def test_tables_of_one_topic_are_compared_together() -> None:
    compared = Compared()
    assert run(compared, None) == ["shop.a", "shop.b", "shop.v", "shop.c"]
    assert compared.groups == [["shop.a", "shop.c"], ["shop.b"], ["shop.v"]] and compared.begun == ["one", "two"]


def test_finished_topics_are_not_read_again(tmp_path: Path) -> None:
    path = tmp_path / "state"
    with pytest.raises(SinkUnavailable):
        run(Compared("shop.b"), path)
    with pytest.raises(ProcessError, match="E5033"):
        run(Compared(), path, "other")
    compared = Compared()
    assert run(compared, path) == ["shop.a", "shop.b", "shop.v", "shop.c"]
    assert compared.groups == [["shop.b"], ["shop.v"]] and compared.begun == ["two"]
    assert not path.exists()
