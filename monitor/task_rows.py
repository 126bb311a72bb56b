"""The rows of the tasks table: what stays as it is for long is HTML, what changes each second is a list of values.

A bus of 1,000 tasks changes 1,000 lags and positions each second. As rows they would be 2 MB for each browser; as
values they are 100 kB. A row that shows the same is not rendered again.
"""

from __future__ import annotations

import html as markup
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from markupsafe import Markup

from monitor import formatting
from monitor.filtering import Facts, facts
from monitor.task_state import LAG_BAD_S, LAG_WARN_S
from monitor.view import TaskRow
from replicator.model.decoding import from_json

LEASE_SHOWN: Final = 2.0
"""Seconds up to which the rest of a lease is shown: that of a healthy one is another figure each second, and all rows
would be sent to all browsers again."""
PASSING: Final = ("lag", "behind", "transactions", "rate", "headroom", "event", "checkpoint", "position")
"""Facts that change from second to second. They are not in the row, but with its values."""
_CELL: Final = re.compile(r'data-cell="(\w+)"([^>]*)></')
_PATH: Final = '<path d=""/>'


class Values(msgspec.Struct, frozen=True, array_like=True):
    """Of one row; static/cells.js has the same order. `lag`, `behind`, `transactions`, `rate`, `position`,
    `headroom`: as they are shown, else numbers as in `Facts`."""

    lag: str
    behind: str
    transactions: str
    rate: str
    position: str
    headroom: str
    event_ms: int
    checkpoint_ms: int
    lag_s: float | None
    behind_bytes: int | None
    behind_transactions: int | None
    rows_per_s: float | None
    headroom_s: float | None


def without_lease(task: TaskRow) -> TaskRow:
    """With the rest of its lease only where it is short."""
    return msgspec.structs.replace(task, lease_left_s=min(task.lease_left_s, LEASE_SHOWN + 0.1))


def values(task: TaskRow) -> Values:
    known = facts(task)
    return Values(
        formatting.lag(task.lag_s, at_most=task.lag_at_most) if task.leads else "–",
        "–" if task.behind_bytes is None else formatting.size(task.behind_bytes),
        "" if task.behind_transactions is None else f"{formatting.count(task.behind_transactions)} tx",
        "–" if known.rate is None else formatting.count(known.rate),
        task.position or "–",
        "–" if task.retention_headroom_s is None else formatting.duration(task.retention_headroom_s),
        task.last_event_ms,
        task.checkpoint_ms,
        None if known.lag is None else round(known.lag, 3),
        task.behind_bytes,
        task.behind_transactions,
        None if known.rate is None else round(known.rate, 3),
        None if known.headroom is None else round(known.headroom),
    )


class TaskRows:
    """`render`: the template of a row. Thread-safe: what is kept twice is the same."""

    def __init__(self, render: Callable[..., str]) -> None:
        self._render = render
        self._known: dict[str, tuple[Any, str]] = {}

    def fragments(self, task: TaskRow, now_ms: int) -> dict[str, str]:
        """The row, its values and its sparkline."""
        key = f"tasks:{task.name}"
        shown = _lasting(task)
        known = self._known.get(key)
        if known is None or known[0] != shown:
            row = self._render(key=key, now=now_ms, task=task, level=_level(task), facts=_attribute(facts(task)))
            known = self._known[key] = shown, row
        return {
            key: known[1],
            f"values:{task.name}": msgspec.json.encode(values(task)).decode(),
            f"sparks:{task.name}": formatting.spark_path(task.spark),
        }

    def forget(self, number: int, html: Mapping[str, str]) -> None:
        """Rows of tasks that are gone, or that this selector does not include and none has asked for since."""
        if len(self._known) > 2 * number + 100:
            self._known = {key: row for key, row in self._known.items() if key in html}


def _level(task: TaskRow) -> str:
    if task.lag_s is None or task.lag_s <= LAG_WARN_S:
        return ""
    return "bad" if task.lag_s > LAG_BAD_S else "warn"


def _lasting(task: TaskRow) -> tuple[object, ...]:
    """What a row is made of, but for its values."""
    retrying = task.retrying
    shown = msgspec.structs.replace(
        task, gtid="", position="", rows=0, transactions=0, rows_per_s=0.0, bytes_per_s=0.0, lag_s=None, lag_note="",
        lag_at_most=False, last_event_ms=0, checkpoint_ms=0, lease_left_s=0.0, figures_age_s=None, spark=(),
        clock_skew_s=None, retention_headroom_s=None, behind_bytes=None, behind_transactions=None, activity=None,
        snapshot=None, notes=(), members=(),
        retrying=msgspec.structs.replace(retrying, seconds=0.0, attempts=0) if retrying is not None else None,
    )  # fmt: skip
    snapshot = (task.snapshot.state, task.snapshot.percent) if task.snapshot is not None else None
    return shown, _level(task), snapshot


def _attribute(known: Facts) -> Markup:
    """As JSON for an attribute in single quotes: most of it are double ones."""
    lasting = {name: value for name, value in msgspec.to_builtins(known).items() if value and name not in PASSING}
    text = msgspec.json.encode(lasting).decode()
    return Markup(text.replace("&", "&amp;").replace("'", "&#39;").replace("<", "&lt;"))  # noqa: S704 - escaped here


def filled(key: str, fragments: Mapping[str, str], now_ms: int) -> str:
    """A fragment for a page; a row of a task with its values."""
    text = fragments[key]
    kind, _, name = key.partition(":")
    if kind != "tasks":
        return text
    found = from_json(fragments[f"values:{name}"], Values)
    cells = {
        "lag": markup.escape(found.lag),
        "behind": found.behind,
        "transactions": found.transactions,
        "rate": found.rate,
        "position": markup.escape(found.position),
        "headroom": found.headroom,
        "event": formatting.ago(found.event_ms, now_ms) if found.event_ms else "–",
        "checkpoint": formatting.ago(found.checkpoint_ms, now_ms),
    }
    text = _CELL.sub(lambda cell: f'data-cell="{cell[1]}"{cell[2]}>{cells[cell[1]]}</', text)
    return text.replace(_PATH, f'<path d="{fragments[f"sparks:{name}"]}"/>', 1)
