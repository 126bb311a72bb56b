"""Conditions: what they say of figures, of those that are not known, and what is refused."""

from __future__ import annotations

import pytest

from replicator.alerts.condition import Invalid, compiled, names, thresholds
from replicator.alerts.figures import Value


@pytest.mark.parametrize(
    ("text", "figures", "verdict"),
    [
        ("lag_seconds > 30", {"lag_seconds": 31.0}, True),
        ("lag_seconds > 30", {"lag_seconds": 30.0}, False),
        ("lag_seconds > 30", {"lag_seconds": 0}, False),
        ("lag_seconds > 30", {"lag_seconds": None}, None),
        ("NOT lag_seconds > 30", {"lag_seconds": None}, None),
        ("LAG_SECONDS >= 30", {"lag_seconds": 30}, True),
        ("lag_seconds IS NULL", {"lag_seconds": None}, True),
        ("lag_seconds IS NOT NULL", {"lag_seconds": None}, False),
        ("state IN ('FAILED', 'PAUSED')", {"state": "FAILED"}, True),
        ("state IN ('FAILED', 'PAUSED')", {"state": "RUNNING"}, False),
        ("state IN ('FAILED')", {"state": None}, None),
        ("host LIKE 'core-_%'", {"host": "core-12"}, True),
        ("host LIKE 'core-_'", {"host": "core-12"}, False),
        ("standbys < wanted_standbys AND running = 1", {"standbys": 0, "wanted_standbys": 1, "running": 1}, True),
        ("lag_seconds > 30 AND state = 'RUNNING'", {"lag_seconds": None, "state": "FAILED"}, False),
        ("lag_seconds > 30 OR state = 'FAILED'", {"lag_seconds": None, "state": "FAILED"}, True),
        ("lag_seconds > 30 OR state = 'FAILED'", {"lag_seconds": None, "state": "RUNNING"}, None),
        ("lag_unknown = TRUE", {"lag_unknown": True}, True),
        ("lag_unknown = TRUE", {"lag_unknown": False}, False),
        ("lag_seconds BETWEEN 5 AND 10", {"lag_seconds": 7}, True),
    ],
)  # fmt: skip
def test_verdicts(text: str, figures: dict[str, Value], verdict: bool | None) -> None:
    assert compiled(text, "task")(figures) is verdict


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lag > 30", "'lag'"),
        ("lag_seconds > '30'", "a comparison of a number with a text"),
        ("lag_unknown > TRUE", "> of flags"),
        ("state < 'Z'", "< of texts"),
        ("lag_seconds LIKE '3%'", "a comparison of a number with a text"),
        ("lag_seconds", "LIKE, BETWEEN"),
        ("lag_seconds >", "a figure or a literal"),
        ("", "a figure or a literal"),
        ("operation = 'insert'", "OPERATION"),
        ("before.state = 'RUNNING'", "a date, bytes or an image of a row"),
        ("state = x'00'", "a date, bytes or an image of a row"),
        ("lag_seconds > 30 " + "OR lag_seconds > 30 " * 100, "2017 characters"),
        ("__import__('os').system('ls') = 1", "("),
    ],
)
def test_refused(text: str, said: str) -> None:
    with pytest.raises(Invalid) as refused:
        compiled(text, "task")
    assert said in f"{refused.value.found} {refused.value.wanted}"


def test_a_figure_of_another_scope_is_refused() -> None:
    with pytest.raises(Invalid, match="lag_seconds"):
        compiled("lag_seconds > 1", "machine")


def test_names_and_thresholds() -> None:
    text = "standbys < wanted_standbys AND (lag_seconds > 30 OR state IN ('A', 'B')) AND NOT running = 2"
    assert names(text) == {"standbys", "wanted_standbys", "lag_seconds", "state", "running"}
    assert thresholds(text) == [30, 2]
