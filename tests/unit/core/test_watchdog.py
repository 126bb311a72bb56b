from __future__ import annotations

from core.watchdog import Watchdog


def asked(check: Watchdog, *answers: tuple[float, float]) -> list[bool]:
    return [check.stuck(beat, now) for beat, now in answers]


def test_a_worker_that_beats_is_not_stuck() -> None:
    assert not any(asked(Watchdog(10), *((float(t), float(t)) for t in range(100))))


def test_a_worker_that_stops_beating_is_stuck_after_the_limit() -> None:
    check = Watchdog(10)
    assert asked(check, *((1.0, float(t)) for t in range(11))) == [False] * 11
    assert check.stuck(1.0, 11.0)


def test_a_beat_begins_the_time_anew() -> None:
    check = Watchdog(10)
    asked(check, *((1.0, float(t)) for t in range(10)))
    assert not check.stuck(2.0, 10.5)
    assert not check.stuck(2.0, 15.0)


def test_silence_while_we_were_frozen_ourselves_does_not_count() -> None:
    check = Watchdog(10)
    assert asked(check, (1.0, 0.0), (1.0, 1.0), (1.0, 60.0), (1.0, 61.0)) == [False] * 4


def test_a_worker_that_never_beat_is_stuck_too() -> None:
    check = Watchdog(10)
    assert asked(check, *((0.0, float(t)) for t in range(12)))[-1]
