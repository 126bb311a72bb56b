"""The list of problems: findings with the same cause are one line, the worst and oldest first. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

import msgspec

from monitor.problems.finding import NAMED, Finding, Subject
from monitor.problems.of_others import of_others
from monitor.problems.of_tasks import of_task
from monitor.task_state import TROUBLE
from monitor.view import Tone, View

SHOWN_NAMES: Final = 3
MOST_CAUSES: Final = 3
"""Lines of one kind and code."""
_NOUNS: Final[dict[Subject, str]] = {
    "task": "tasks",
    "machine": "machines",
    "address": "addresses",
    "server": "Servers",
    "cluster": "clusters",
}


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One line: `names` `predicate` since `since_ms` (`code` `cause`). `effect` `todo` `commands`.

    Attributes:
        key: the same from view to view, as long as the cause is the same.
        names: of tasks, machines and others, sorted; shown: those that are written; more: how many are not.
        noun: what they are, for several.
        since_ms: when the first one began, 0: unknown; at_least: or earlier, as this Monitor has found it so.
        commands: to copy.
        query: of the filter that shows the tasks, "" for others than tasks.
    """

    key: str
    kind: str
    tone: Tone
    severity: int
    subject: Subject
    names: tuple[str, ...]
    noun: str
    predicate: str
    cause: str = ""
    code: str = ""
    since_ms: int = 0
    at_least: bool = False
    effect: str = ""
    todo: str = ""
    commands: tuple[str, ...] = ()
    query: str = ""

    @property
    def shown(self) -> tuple[str, ...]:
        return self.names if len(self.names) <= SHOWN_NAMES else ()

    @property
    def text(self) -> str:
        """Without markup and time, as for a screen reader or a message."""
        who = ", ".join(self.shown) or f"{len(self.names)} {self.noun}"
        return f"{who} {self.predicate}"


def findings(view: View) -> Iterator[Finding]:
    """Of the last figures; nothing while nothing was read."""
    if view.read_ms:
        for task in view.tasks:
            yield from of_task(task, view.read_ms)
        yield from of_others(view, view.read_ms)


def problems(view: View) -> tuple[Problem, ...]:
    """The lines of all findings. Since when something is so that no record has a time of, the Monitor has noticed."""
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in findings(view):
        if not finding.since_ms and finding.key in view.noticed:
            finding = msgspec.structs.replace(finding, since_ms=view.noticed[finding.key], at_least=True)
        # The same predicate for several has the same address, host or group in it.
        groups.setdefault((finding.kind, finding.many, finding.code), []).append(finding)
    joined = chain.from_iterable(map(_by_cause, groups.values()))
    return tuple(sorted(joined, key=_order))


def _by_cause(findings: list[Finding]) -> list[Problem]:
    """Many causes of one kind, such as topics that are missing, are one line with one of them."""
    causes: dict[str, list[Finding]] = {}
    for finding in findings:
        causes.setdefault(finding.cause, []).append(finding)
    if len(causes) <= MOST_CAUSES:
        return [_joined(each, each[0].cause) for each in causes.values()]
    return [_joined(findings, f"{len(causes)} causes, for instance: {min(causes)}")]


def _order(problem: Problem) -> tuple[int, int, str]:
    return -problem.severity, problem.since_ms or 1 << 62, problem.key


def _joined(findings: list[Finding], cause: str) -> Problem:
    first = max(findings, key=lambda finding: finding.severity)
    names = tuple(sorted({finding.name for finding in findings}))
    begun = [finding.since_ms for finding in findings if finding.since_ms]
    one = len(names) == 1
    return Problem(
        key=f"{first.kind}/{first.code}/{first.many}/{first.cause if cause == first.cause else ''}",
        kind=first.kind,
        tone=_tone(first.severity),
        severity=first.severity,
        subject=first.subject,
        names=names,
        noun=_NOUNS[first.subject],
        predicate=first.one if one else first.many,
        cause=cause,
        code=first.code,
        since_ms=min(begun, default=0),
        at_least=any(finding.at_least for finding in findings),
        effect=first.effect if one else _plural(first.effect),
        todo=first.todo,
        commands=tuple(_commands(first, names)),
        query=_query(first, names) if first.subject == "task" else "",
    )


def _tone(severity: int) -> Tone:
    if severity >= TROUBLE["lag bad"]:
        return "bad"
    return "warn" if severity > TROUBLE["UNCONFIGURED"] else "idle"


def _plural(effect: str) -> str:
    """Effects are written for one task."""
    for one, several in _SEVERAL:
        effect = effect.replace(one, several)
    return effect


_SEVERAL: Final = (
    ("until it is ", "until they are "),
    ("start it:", "start them:"),
    ("It has never", "They have never"),
    ("It is not ", "They are not "),
    ("It continues", "They continue"),
    ("runs it fails: then it is not", "runs one of them fails: then it is not"),
    ("its tasks where there were any; it is no standby itself", "their tasks where there were any"),
)


def _commands(finding: Finding, names: Iterable[str]) -> list[str]:
    if not finding.command:
        return []
    listed = [shlex.quote(name) for name in names]
    return [finding.command.replace("{names}", " ".join(listed) if len(listed) <= NAMED else "NAME")]


def _query(finding: Finding, names: tuple[str, ...]) -> str:
    """A few tasks by their names, more of them by what they have in common."""
    terms = finding.terms or (f"code:{finding.code}" if finding.code else "")
    named = "name:" + ",".join(names)
    return named if not terms or len(names) <= SHOWN_NAMES else terms
