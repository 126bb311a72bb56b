"""Text of the last verification of a task."""

from __future__ import annotations

from typing import Any

import msgspec

from replicator.cli.task.render import age
from replicator.model.verification import Result, Verification, VerifiedTable

_MOST = 3
_WORDS: dict[Result, str] = {
    "equal": "equal",
    "differs": "different",
    "undecided": "undecided",
    "error": "not readable",
    "not_compared": "not compared",
}


def line(found: dict[str, Any], version: int) -> str:
    """`differs, 3h ago on host-a: 6 equal, 1 different (shop.order: 2 missing, 0 extra, 1 different), last equal
    1d ago`. `version`: of the present configuration."""
    kept = msgspec.convert(found, Verification)
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
