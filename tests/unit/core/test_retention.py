from __future__ import annotations

from core.retention import Speed


def test_speed_is_log_time_over_time() -> None:
    speed = Speed()
    assert speed.over(10.0, 1_000_000) == 1.0
    assert speed.over(20.0, 1_005_000) == 0.5
    assert speed.over(30.0, 1_005_000) == 0.0
    assert speed.over(40.0, 0) == 1.0
