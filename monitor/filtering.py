"""Filter and order of the tasks table: `state:failed label:env=prod lag>30 !word`. Pure.

static/filtering.js has the same rules, so that the table follows each key; a test runs both over the same cases.

Terms are separated by blanks and all have to hold; `"` keeps blanks in a term. Several values, separated by commas, are
alternatives; `!` in front of a term negates it. A term without a known key is searched in the text of the row. What is
not complete, such as `state:` while it is typed, holds for every task.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from monitor.view import TaskRow

MOST: Final = 500
"""Characters of a query; the rest is ignored."""
_TOKEN: Final = re.compile(r'(?:[^ \t\r\n"]|"[^"]*"?)+')
_TERM: Final = re.compile(r"([a-z]+)(:|>=|<=|>|<|=)(.*)", re.DOTALL)
_NUMBER: Final = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,9})?)(s|min|m|h|d|kb|k|mb|gb)?")
_UNITS: Final = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400, "k": 1000, "kb": 1000, "mb": 10**6, "gb": 10**9}

TEXTS: Final = ("name", "state", "host", "standby", "label", "group", "source", "sink", "code", "note", "version", "is")
NUMBERS: Final = (
    "lag",
    "behind",
    "transactions",
    "rate",
    "event",
    "checkpoint",
    "headroom",
    "takeover",
    "standbys",
    "epoch",
    "config",
    "pid",
)
AGES: Final = ("event", "checkpoint", "takeover")
"""Times, of which the age in seconds is compared and ordered."""
DESCENDING: Final = frozenset({"lag", "behind", "rate", "standbys", "epoch"})
"""Orders that begin with the largest."""
ORDERS: Final = (
    "name",
    "state",
    "source",
    "host",
    "standbys",
    "lag",
    "behind",
    "rate",
    "event",
    "position",
    "checkpoint",
    "epoch",
    "headroom",
    "takeover",
    "version",
)


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What a task is found and ordered by. Texts but `name` and `position` are lower case, without a value "".
    Times: ms, 0: never.

    Attributes:
        state: with hyphens: `no-running`.
        states: that, and "retrying".
        labels: `key=value`.
        text: what a word is searched in.
    """

    name: str
    state: str = ""
    states: tuple[str, ...] = ()
    trouble: int = 0
    host: str = ""
    pid: int = 0
    standby: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    group: str = ""
    source: str = ""
    sink: str = ""
    codes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    version: str = ""
    standbys: int = 0
    epoch: int = 0
    config: int = 0
    takeover: int = 0
    lag: float | None = None
    behind: float | None = None
    transactions: float | None = None
    rate: float | None = None
    headroom: float | None = None
    event: int = 0
    checkpoint: int = 0
    position: str = ""

    @property
    def text(self) -> str:
        one = (
            self.name.lower(),
            self.state.replace("-", " "),
            self.host,
            self.group,
            self.source,
            self.sink,
            self.version,
        )
        return " ".join((*one, *self.states, *self.standby, *self.labels, *self.codes, *self.notes))


class Term(msgspec.Struct, frozen=True):
    """`key` "" is a word. `operator`: ":" for texts, else a comparison with `number`."""

    negated: bool
    key: str
    operator: str
    values: tuple[str, ...] = ()
    number: float = 0.0


def codes_of(task: TaskRow) -> tuple[str, ...]:
    """Error codes that the task has now, each once."""
    codes = [error.get("code", "") for error in task.errors]
    codes += [task.retrying.code] if task.retrying is not None else []
    codes += [one.error.get("code", "") for one in task.addresses if one.error is not None]
    return tuple(dict.fromkeys(filter(None, codes)))


def facts(task: TaskRow) -> Facts:
    state = task.state.lower().replace(" ", "-").replace("_", "-")
    return Facts(
        name=task.name,
        state=state,
        states=(state, "retrying") if task.retrying is not None else (state,),
        trouble=task.trouble,
        host=task.host.lower(),
        pid=task.pid,
        standby=tuple(host.lower() for host in task.standbys),
        labels=tuple(f"{key}={value}".lower() for key, value in sorted(task.labels.items())),
        group=task.group.lower(),
        source=task.source.lower(),
        sink=task.destination.lower(),
        codes=tuple(code.lower() for code in codes_of(task)),
        notes=tuple(note.lower() for note in task.lasting),
        version=task.version.lower(),
        standbys=len(task.standbys),
        epoch=task.epoch,
        config=task.config_version,
        takeover=task.takeover_ms,
        lag=task.lag_s if task.leads else None,
        behind=task.behind_bytes,
        transactions=task.behind_transactions,
        rate=task.rows_per_s if task.leads and not task.figures_old else None,
        headroom=task.retention_headroom_s,
        event=task.last_event_ms,
        checkpoint=task.checkpoint_ms,
        position=task.position,
    )


def parse(query: str) -> tuple[Term, ...]:
    """Never fails: what is not understood is searched as a word."""
    return tuple(_term(token.replace('"', "")) for token in _TOKEN.findall(query[:MOST].lower()))


def _term(token: str) -> Term:
    body = token.lstrip("!")
    negated = (len(token) - len(body)) % 2 == 1
    found = _TERM.fullmatch(body)
    key = found[1] if found else ""
    if found and key in TEXTS and found[2] in ":=":
        return Term(negated, key, ":", tuple(value for value in found[3].split(",") if value))
    if found and key in NUMBERS:
        number = _NUMBER.fullmatch(found[3])
        if number:
            return Term(negated, key, "=" if found[2] == ":" else found[2], (), float(number[1]) * _unit(number[2]))
        if not found[3]:
            return Term(False, "", "")
    return Term(negated and body != "", "", "", (body,) if body else ())


def _unit(unit: str | None) -> int:
    return _UNITS[unit] if unit else 1


def matches(terms: Iterable[Term], task: Facts, now_ms: int) -> bool:
    return all(_holds(term, task, now_ms) for term in terms)


def _holds(term: Term, task: Facts, now_ms: int) -> bool:
    if term.operator in ("", ":") and not term.values:
        return True  # not complete
    if not term.key:
        return (term.values[0] in task.text) != term.negated
    if term.operator == ":":
        return any(_has(term.key, value, task) for value in term.values) != term.negated
    number = _number(term.key, task, now_ms)
    return (number is not None and _compared(number, term.operator, term.number)) != term.negated


def _has(key: str, value: str, task: Facts) -> bool:
    if key == "state":
        return any(state.startswith(value) for state in task.states)
    if key == "is":
        return task.trouble > 0 if value == "problem" else value in task.states
    if key == "label":
        return _labelled(value, task.labels)
    if key in ("standby", "code", "note"):
        return any(value in text for text in getattr(task, {"code": "codes", "note": "notes"}.get(key, key)))
    return value in str(getattr(task, key)).lower()


def _labelled(wanted: str, labels: tuple[str, ...]) -> bool:
    """`env=prod`, `env!=prod` or `env`, as a selector of the command line means it."""
    if "!=" in wanted:
        return wanted.replace("!=", "=", 1) not in labels
    return wanted in labels if "=" in wanted else any(label.startswith(f"{wanted}=") for label in labels)


def _number(key: str, task: Facts, now_ms: int) -> float | None:
    value: float | None = getattr(task, key)
    if key in AGES:
        return (now_ms - value) / 1000 if value else None
    return value


def _compared(number: float, operator: str, with_: float) -> bool:
    if operator == "=":
        return number == with_
    if operator.startswith("<"):
        return number < with_ or (operator == "<=" and number == with_)
    return number > with_ or (operator == ">=" and number == with_)


def explained(terms: Iterable[Term]) -> str:
    """`state is failed, not: text contains "blue"`."""
    return ", ".join(filter(None, map(_explained, terms)))


def _explained(term: Term) -> str:
    if term.operator in ("", ":") and not term.values:
        return ""
    if term.operator not in ("", ":"):
        number = int(term.number) if term.number.is_integer() else term.number
        what = f"{term.key} {term.operator} {number}"
    else:
        verb = "is" if term.key in ("state", "is", "label") else "contains"
        what = f"{term.key or 'text'} {verb} " + " or ".join(f'"{value}"' for value in term.values)
    return f"not: {what}" if term.negated else what


def direction(order: str) -> tuple[str, bool]:
    """The column and whether it descends, of `lag` or, the other way round, `-lag`; "" is the usual order."""
    column = order.removeprefix("-")
    if column not in ORDERS:
        return "", False
    return column, (column in DESCENDING) != order.startswith("-")


def ordered(tasks: Iterable[Facts], order: str) -> list[Facts]:
    """Without a known `order` those in trouble first. Tasks without a value are last in both directions, equal ones by
    name."""
    column, descending = direction(order)
    found = sorted(tasks, key=lambda task: task.name)
    if not column:
        return sorted(found, key=lambda task: -task.trouble)
    having = [task for task in found if _sortable(column, task) is not None]
    having.sort(key=lambda task: _sortable(column, task), reverse=descending)
    return having + [task for task in found if _sortable(column, task) is None]


def _sortable(column: str, task: Facts) -> Any:
    """None: no value. An age ascends from the youngest: its time descends."""
    value = getattr(task, column)
    if value is None or value == "" or (column in AGES and not value):
        return None
    return -value if column in AGES else value
