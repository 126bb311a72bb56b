"""When which task is looked at."""

from __future__ import annotations

from typing import Any

from core.expiry_checks import FIRST, INTERVAL, PACE, ExpiryChecks
from replicator.assembly.expiry_checks import ExpiryReport


class Scene:
    def __init__(self) -> None:
        self.now = 0.0
        self.running: dict[str, dict[str, Any]] = {}
        self.asked: list[str] = []
        self.answer: ExpiryReport | None = None
        self.outlooks = ExpiryChecks(lambda: dict(self.running), self.look, lambda: self.now)

    def look(self, config: Any) -> ExpiryReport | None:
        self.asked.append(config["name"])
        return self.answer

    def at(self, now: float, rounds: int = 3) -> list[str]:
        """Who is asked for then."""
        self.now, self.asked = now, []
        for _ in range(rounds):
            self.outlooks.round()
        return self.asked


def test_once_a_while_one_after_the_other_and_not_while_it_takes_over() -> None:
    scene = Scene()
    assert scene.at(0) == [], "nothing runs here"
    scene.running = {"a": {"name": "a"}, "b": {"name": "b"}}
    assert scene.at(1) == []
    assert scene.at(1 + FIRST) == ["a"]
    assert scene.at(1 + FIRST + PACE) == ["b"]
    assert scene.at(INTERVAL) == []
    assert scene.at(1 + FIRST + PACE + INTERVAL) == ["a"]
    assert scene.at(1 + FIRST + 2 * PACE + INTERVAL) == ["b"]


def test_what_is_known_lasts_until_the_task_goes_or_changes() -> None:
    scene = Scene()
    scene.running, scene.answer = {"a": {"name": "a"}}, ExpiryReport(certificate_ms=5)
    assert scene.at(0) == []
    assert scene.outlooks.of("a") == ExpiryReport()
    scene.at(FIRST)
    assert scene.outlooks.of("a").certificate_ms == 5
    scene.answer = None
    scene.at(FIRST + INTERVAL)
    assert scene.outlooks.of("a").certificate_ms == 5, "nobody could tell"
    scene.running = {"a": {"name": "a", "changed": True}}
    assert scene.at(FIRST + INTERVAL) == []
    assert scene.at(2 * FIRST + INTERVAL) == ["a"], "another configuration"
    scene.running = {}
    scene.at(2 * FIRST + INTERVAL)
    assert scene.outlooks.of("a") == ExpiryReport()
