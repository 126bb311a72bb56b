"""`task delete --purge-topics`: what is deleted behind the task, and what is not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from replicator.errors import ProcessError
from replicator.sink.kafka.written_topics import WrittenTopics
from tests.support.api import TASK, World
from tests.unit.cli.conftest import Cli

NAME = "copy_hot_item"


class Topics:
    """Of one task. `before`: called before topics are looked at again, behind the task; `refused`: stay."""

    def __init__(self) -> None:
        self.found = WrittenTopics(("a", "b"), ("shared",))
        self.later: WrittenTopics | None = None
        self.refused: tuple[str, ...] = ()
        self.deleted: list[str] = []
        self._looks = 0

    def find(self) -> WrittenTopics:
        self._looks += 1
        return self.found if self._looks == 1 or self.later is None else self.later

    def delete(self, names: tuple[str, ...]) -> None:
        if self.refused:
            raise ProcessError("E5060", "some topics were not deleted", found=", ".join(self.refused))
        self.deleted += names


@pytest.fixture
def topics(world: World, monkeypatch: pytest.MonkeyPatch) -> Topics:
    made = Topics()

    @contextmanager
    def opened(*_: Any) -> Iterator[Topics]:
        yield made

    monkeypatch.setattr("replicator.assembly.topic_purge.open_topic_purge", opened)
    assert world.http.post("/tasks", content=TASK).status_code == 201
    return made


def there(world: World) -> bool:
    return world.http.get(f"/tasks/{NAME}").status_code == 200


def test_own_topics_go_behind_the_task_and_shared_ones_stay(cli: Cli, world: World, topics: Topics) -> None:
    shown = cli("task", "delete", NAME, "--purge-topics", "--dry-run")
    assert "topic a of" in shown.stdout and "shared stays" in shown.stdout and there(world) and not topics.deleted
    topics.later = WrittenTopics(("a",), ("b", "shared"))
    topics._looks = 0
    done = cli("task", "delete", NAME, "--purge-topics", "-y")
    assert done.exit_code == 0 and topics.deleted == ["a"] and not there(world)
    assert "topic b stays" in done.stderr and "1 topics deleted" in done.stdout


def test_topics_that_kafka_does_not_delete(cli: Cli, world: World, topics: Topics) -> None:
    topics.refused = ("b",)
    done = cli("task", "delete", NAME, "--purge-topics", "-y")
    assert done.exit_code != 0 and "E5060" in done.stderr and "Found: b" in done.stderr and not there(world)


def test_topics_of_a_task_that_is_there_again_stay(
    cli: Cli, world: World, topics: Topics, monkeypatch: pytest.MonkeyPatch
) -> None:
    from replicator.cli.task.client import Client

    delete = Client.delete

    def again(self: Client, name: str, *more: Any, **named: Any) -> bool:
        done = delete(self, name, *more, **named)
        assert world.http.post("/tasks", content=TASK).status_code == 201
        return done

    monkeypatch.setattr(Client, "delete", again)
    done = cli("task", "delete", NAME, "--purge-topics", "-y")
    assert done.exit_code != 0 and "E5062" in done.stderr and topics.deleted == [] and there(world)
