"""One table in quarantine, by an error and by an operator: the rest flows, over fail-overs, and what was left out comes
back in order and once."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from dev.cluster import wait_for
from dev.errors import ServerFailed
from replicator.coordination.tasks.history import History
from replicator.model.quarantine import Quarantined
from tests.failover.bus import Bus

pytestmark = pytest.mark.timeout(240)
MakeBus = Callable[..., Bus]


class Ill:
    """A table beside the writer's, with one row that counts."""

    def __init__(self, bus: Bus) -> None:
        self.bus, self.name, self.written = bus, f"{bus.name}.ill", 0
        bus.database.execute(f"CREATE TABLE {self.name} (id INT PRIMARY KEY, n INT, pad INT)")
        bus.database.execute(f"INSERT INTO {self.name} VALUES (1, 0, 0)")

    def count(self, times: int = 1, *, image: str = "FULL") -> None:
        connection: Any = self.bus.database.connect()
        with connection, connection.cursor() as cursor:
            cursor.execute(f"SET SESSION binlog_row_image = '{image}'")
            for _ in range(times):
                cursor.execute(f"UPDATE {self.name} SET n = n + 1 WHERE id = 1")
            connection.commit()
        self.written += times

    @property
    def marks(self) -> tuple[Quarantined, ...]:
        commit = self.bus.look().last_commit
        return commit.checkpoint.quarantined if commit and commit.checkpoint else ()

    def wait_left_out(self) -> Quarantined:
        def mark() -> Quarantined | None:
            return next((mark for mark in self.marks if mark.until is None), None)

        found: Quarantined = wait_for(mark, lambda: f"{self.name} in quarantine{self.bus.logs()}", 40)
        assert found.table == self.name
        return found

    def wait_back(self) -> Quarantined:
        over: Quarantined = wait_for(
            lambda: next((mark for mark in self.marks[-1:] if mark.until is not None), None),
            lambda: f"{self.name} flowing again{self.bus.logs()}",
            60,
        )
        return over

    def seen(self) -> list[int]:
        values = [json.loads(record.value) for record in self.bus.records("ill") if record.value]
        return [value["after"]["n"] for value in values]

    def wait_seen(self, number: int) -> None:
        wait_for(lambda: number in self.seen(), lambda: f"{number} of {self.name}{self.bus.logs()}", 40, every=0.5)


def fail_over(bus: Bus) -> None:
    leader = bus.look().host
    bus.cluster.cores[leader].kill()
    bus.wait_running(other_than=leader)


def clean(bus: Bus) -> None:
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)


def test_a_table_that_can_not_be_read_is_left_out_and_comes_back_in_order(make_bus: MakeBus) -> None:
    bus = make_bus(source={"on_table_error": "quarantine"})
    ill = Ill(bus)
    ill.count(3)
    ill.wait_seen(3)
    ill.count(2, image="MINIMAL")
    mark = ill.wait_left_out()
    assert mark.error is not None and (mark.error["code"], mark.error["table"]) == ("E2304", ill.name)
    ill.count(4)
    bus.wait_delivered(20)
    described = bus.cluster.cli("task", "describe", bus.name)
    assert "Why tables are in quarantine" in described and "E2304" in described
    fail_over(bus)
    bus.wait_delivered(20)
    ill.count(2)
    assert ill.wait_left_out() == mark, "whoever takes over leaves it out, from the same place on"
    assert ill.seen() == [0, 1, 2, 3]
    bus.cluster.apply({**bus.task, "source": {**bus.task["source"], "row_image": "accept_partial"}})
    bus.wait_delivered(20)
    assert ill.wait_left_out() == mark, "a configuration without a word of it releases nothing"
    bus.cluster.cli("task", "replay", bus.name, ill.name)
    assert ill.wait_back().replayed
    ill.count(2)
    ill.wait_seen(ill.written)
    assert ill.seen() == list(range(ill.written + 1)), "each once, in order"
    kinds = [entry.record.kind for entry in History(bus.coordinator, bus.layout).read(bus.name)]
    assert [kind for kind in kinds if kind in ("quarantined", "flows again")] == ["quarantined", "flows again"]
    clean(bus)


def test_a_leader_that_dies_while_it_catches_up(make_bus: MakeBus) -> None:
    bus = make_bus()
    ill = Ill(bus)
    ill.count()
    ill.wait_seen(1)
    bus.cluster.cli("task", "quarantine", bus.name, ill.name)
    ill.wait_left_out()
    ill.count(20_000)
    bus.cluster.cli("task", "replay", bus.name, ill.name)

    def catching_up() -> bool:
        commit = bus.look().last_commit
        behind = commit.checkpoint.position.catch_up if commit and commit.checkpoint else None
        return behind is not None and not behind.done

    wait_for(catching_up, lambda: f"the catch-up to be under way{bus.logs()}", 40, every=0.02)
    fail_over(bus)
    assert ill.wait_back().replayed
    ill.count()
    ill.wait_seen(ill.written)
    assert ill.seen() == list(range(ill.written + 1))
    clean(bus)


def test_81_applying_the_file_from_version_control_releases_nothing(make_bus: MakeBus) -> None:
    bus = make_bus()
    ill = Ill(bus)
    ill.count()
    ill.wait_seen(1)
    with pytest.raises(ServerFailed, match="E2205"):
        bus.cluster.cli("task", "quarantine", bus.name, f"{bus.name}.nothing")
    bus.cluster.cli("task", "quarantine", bus.name, ill.name)
    mark = ill.wait_left_out()
    ill.count(3)
    bus.cluster.apply(bus.task)
    bus.cluster.apply({**bus.task, "checkpoint_interval_ms": 500})
    bus.wait_delivered(20)
    fail_over(bus)
    bus.wait_delivered(20)
    assert ill.wait_left_out() == mark and ill.seen() == [0, 1]
    with pytest.raises(ServerFailed, match=r"E1013.*replicator task quarantine"):
        bus.cluster.apply({**bus.task, "source": {**bus.task["source"], "quarantine": []}})
    bus.cluster.cli("task", "replay", bus.name, ill.name)
    assert ill.wait_back().replayed
    ill.wait_seen(4)
    assert ill.seen() == [0, 1, 2, 3, 4]
    clean(bus)


def test_an_operator_releases_a_table_and_another_task_replays_what_it_missed(make_bus: MakeBus) -> None:
    bus = make_bus()
    ill = Ill(bus)
    ill.wait_seen(0)
    bus.cluster.cli("task", "quarantine", bus.name, ill.name)
    ill.wait_left_out()
    ill.count(3)
    fail_over(bus)
    ill.count(2)
    bus.wait_delivered(20)
    bus.cluster.cli("task", "quarantine", bus.name, ill.name, "--release")
    assert not ill.wait_back().replayed
    ill.count(2)
    ill.wait_seen(7)
    assert ill.seen() == [0, 6, 7]
    replay = f"{bus.name}.replay-{ill.name}"
    assert replay in bus.cluster.cli("task", "replay", bus.name, ill.name)

    def over() -> bool:
        problems = bus.overview.task(replay).problems
        return bool(problems) and problems[0]["code"] == "E5015"

    wait_for(over, lambda: f"the replay to be done{bus.logs()}", 40)
    assert Counter(ill.seen()) == Counter(range(8))
    assert ill.seen() == [0, 6, 7, 1, 2, 3, 4, 5], "the replay's are older, and in order"
    bus.cluster.cli("task", "delete", replay, "--yes")
    clean(bus)
