"""The line of `task describe` about the nightly verification."""

from __future__ import annotations

import time
from typing import Any

import pytest

from replicator.cli.verification_line import nightly

TEN_MINUTES = 600_000
"""Ago, in ms."""


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"stage": "ordered"}, "of 2026-11-26: ordered, may begin in 0.0s"),
        (
            {"stage": "running", "host": "core-a", "attempts": 2, "began_ms": TEN_MINUTES},
            "running for 10m on core-a, attempt 2",
        ),
        ({"stage": "done", "host": "core-a", "ended_ms": TEN_MINUTES}, "done 10m ago on core-a"),
        (
            {"stage": "skipped", "ended_ms": TEN_MINUTES, "note": "the task is paused"},
            "skipped 10m ago, the task is paused",
        ),
    ],
)  # fmt: skip
def test_how_far_it_has_come(more: dict[str, Any], text: str) -> None:
    now_ms = int(time.time() * 1000)
    times = {key: now_ms - value for key, value in more.items() if key.endswith("_ms")}
    assert nightly({"uid": "u", "date": "2026-11-26", **more, **times}).endswith(text)
