"""Options that don't go together."""

from __future__ import annotations

from typing import Any

import pytest

from replicator.assembly.format_checks import check
from replicator.config.load import parse_task


def findings(sink: dict[str, Any], **source: Any) -> dict[str, str]:
    config = {
        "name": "a",
        "source": {"type": "mysql", "user": "u", "password": "env:P", **source},
        "sink": {"type": "stdout", **sink},
    }
    return {finding.id: finding.severity for finding in check(parse_task(config))}


def test_nothing_to_say() -> None:
    assert findings({}) == {"sink.format": "ok"}
    assert findings({"debezium": {"schemas_enable": True}}) == {"sink.format": "ok"}


@pytest.mark.parametrize(
    ("sink", "source", "expected"),
    [
        ({"format": "maxwell", "debezium": {"schemas_enable": True}}, {}, "sink.format.others"),
        ({"debezium": {"schemas_enable": True}}, {"row_image": "accept_partial"}, "sink.format.placeholder"),
        ({"topic": "x", "debezium": {"topic_prefix": "y"}}, {}, "sink.format.topics"),
        ({"debezium": {"heartbeat_interval_ms": 1000}}, {"heartbeat_s": 5}, "sink.format.heartbeat"),
    ],
)
def test_what_does_not_go_together(sink: dict[str, Any], source: dict[str, Any], expected: str) -> None:
    assert findings(sink, **source) == {expected: "warn"}
