"""Text of the last verification of a task."""

from __future__ import annotations

import time
from typing import Any

from replicator.cli.task.render import age, duration
from replicator.model.decoding import converted
from replicator.model.nightly import VerifyOrder
from replicator.model.verification import Result, Verification, VerifiedTable

_MOST = 3
_WORDS: dict[Result, str] = {
    "equal": "equal",
    "differs": "different",
    "undecided": "undecided",
    "error": "not readable",
    "not_compared": "not compared",
}


def nightly(found: dict[str, Any]) -> str:
    """`of 2026-11-26: running for 5m on core-a`, `of 2026-11-26: skipped, the task is paused`."""
    order = converted(found, VerifyOrder)
    place = f" on {order.host}" if order.host else ""
    if order.stage == "ordered":
        wait = duration(max(order.not_before_ms / 1000 - time.time(), 0))
        text = f"ordered, may begin in {wait}"
    elif order.stage == "running":
        text = f"running for {age(order.began_ms)}{place}" + (
            f", attempt {order.attempts}" if order.attempts > 1 else ""
        )
    else:
        text = f"{order.stage} {age(order.ended_ms)} ago{place}"
    return f"of {order.date}: {text}" + (f", {order.note}" if order.note else "")


def line(found: dict[str, Any], version: int) -> str:
    """`differs, 3h ago on host-a: 6 equal, 1 different (shop.order: 2 missing, 0 extra, 1 different), last equal
    1d ago`. `version`: of the present configuration."""
    kept = converted(found, Verification)
    counted = [f"{kept.count(result)} {word}" for result, word in _WORDS.items() if kept.count(result)]
    counts = ", ".join(counted) or "no tables"
    unrecorded = sum(each.unrecorded for each in kept.tables)
    shown = "; ".join(_table(each) for each in kept.differing[:_MOST])
    more = f"; and {len(kept.differing) - _MOST} more" if len(kept.differing) > _MOST else ""
    parts = [
        counts + (f" ({shown}{more})" if shown else ""),
        f"{unrecorded} rows without a record" if unrecorded else "",
        f"last equal {age(kept.equal_ms)} ago" if kept.equal_ms and kept.equal_ms != kept.ended_ms else "",
        f"of configuration version {kept.version}" if kept.version != version else "",
    ]
    head = f"{kept.result.replace('_', ' ')}, {age(kept.ended_ms)} ago" + (f" on {kept.host}" if kept.host else "")
    return f"{head}: {', '.join(part for part in parts if part)}"


def _table(each: VerifiedTable) -> str:
    counts = f"{each.missing} missing, {each.extra} extra, {each.different} different"
    return f"{each.table}: {each.note or counts}"
