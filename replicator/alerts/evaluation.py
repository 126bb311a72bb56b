"""Evaluates all rules over what the Monitor knows. Pure: figures and the former alerts in, alerts and changes out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from replicator.alerts.condition import Test, names
from replicator.alerts.figures import Scope, Value
from replicator.alerts.machine import Alert, step
from replicator.alerts.rule import Rule, Severity, sentence
from replicator.config.labels import Selector, parse_selector

Ended: TypeAlias = Literal["resolved", "gone", "rule removed"]
"""gone: its task, machine, and so on was removed, or the rule does not select it any more."""


class Key(NamedTuple):
    """name: of the task, the machine, and so on; "" for the cluster."""

    rule: str
    of: Scope
    name: str


def id_of(key: Key) -> str:
    return hashlib.sha256("\0".join(key).encode()).hexdigest()[:16]


class Subject(msgspec.Struct, frozen=True):
    """What an alert can be of.

    Attributes:
        name: "" for the cluster.
        own: only this Monitor knows of it, and sends its alerts itself.
        figures: None: not known; left out: it does not apply, and no rule with it holds.
        labels: of the task.
    """

    of: Scope
    name: str
    figures: dict[str, Value]
    labels: dict[str, str] = {}
    own: bool = False


class Active(msgspec.Struct, frozen=True, kw_only=True):
    """An alert that is pending or firing, with what people read: kept with it, as its subject may be gone when it
    ends. labels: those of the task and of the rule, for routes; task_labels: of the task alone. own: of this
    Monitor alone."""

    rule: str
    of: Scope
    name: str
    severity: Severity
    summary: str
    runbook: str
    labels: dict[str, str]
    task_labels: dict[str, str] = {}
    own: bool = False
    alert: Alert

    @property
    def key(self) -> Key:
        return Key(self.rule, self.of, self.name)

    @property
    def id(self) -> str:
        """The same for the alert of each Monitor."""
        return id_of(self.key)

    @property
    def firing(self) -> bool:
        return self.alert.state == "firing"


class Change(msgspec.Struct, frozen=True):
    """An alert that began to fire (`ended` is None), or that has ended after it fired."""

    active: Active
    time_ms: int
    ended: Ended | None = None


class Evaluated(NamedTuple):
    active: dict[Key, Active]
    changes: list[Change]


class Evaluator:
    """Rules, compiled once."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules = tuple(rules)
        self._by_scope: dict[Scope, list[tuple[Rule, Test, Selector | None]]] = {}
        for rule in rules:
            selector = parse_selector(rule.tasks) if rule.tasks else None
            self._by_scope.setdefault(rule.of, []).append((rule, _applied(rule), selector))
        self._names = {rule.name for rule in rules}

    def evaluate(
        self, subjects: Iterable[Subject], known: Iterable[Scope], before: Mapping[Key, Active], now_ms: int
    ) -> Evaluated:
        """
        Args:
            subjects: all that there are of the kinds in `known`.
            known: kinds whose subjects are known now. Alerts of others stay as they are, and say since when nothing is
                known of them.
        """
        found, changes, judged = dict[Key, Active](), list[Change](), set[Key]()
        kinds = frozenset(known)
        for subject in subjects:
            for rule, test, selector in self._by_scope.get(subject.of, ()):
                if selector is not None and not selector.matches(subject.labels):
                    continue
                key = Key(rule.name, subject.of, subject.name)
                judged.add(key)
                former = before.get(key)
                after = step(former.alert if former else None, test(subject.figures), now_ms, rule.for_s, rule.keep_s)
                if after is None:
                    if former is not None and former.firing:
                        changes.append(Change(former, now_ms, "resolved"))
                    continue
                active = found[key] = _active(rule, subject, after, former)
                if active.firing and (former is None or not former.firing):
                    changes.append(Change(active, now_ms))
        for key, former in before.items():
            if key in judged:
                continue
            if key.rule in self._names and key.of not in kinds:
                frozen = step(former.alert, None, now_ms, 0, 0)
                if frozen is not None:
                    found[key] = msgspec.structs.replace(former, alert=frozen)
            elif former.firing:
                changes.append(Change(former, now_ms, "gone" if key.rule in self._names else "rule removed"))
        return Evaluated(found, changes)


def _applied(rule: Rule) -> Test:
    needed, test = names(rule.when), rule.test()
    return lambda figures: test(figures) if needed <= figures.keys() else False


def _active(rule: Rule, subject: Subject, alert: Alert, former: Active | None) -> Active:
    # What does not hold now has the sentence of when it held, with the figures of then.
    kept = former is not None and alert.verdict is not True
    return Active(
        rule=rule.name,
        of=subject.of,
        name=subject.name,
        severity=rule.severity,
        summary=former.summary if former is not None and kept else sentence(rule, subject.figures),
        runbook=rule.runbook,
        labels={**subject.labels, **rule.labels},
        task_labels=subject.labels,
        own=subject.own,
        alert=alert,
    )
