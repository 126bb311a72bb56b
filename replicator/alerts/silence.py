"""Silences: which alerts are shown and not sent, until when, by whom and why. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from replicator.alerts.figures import Scope
from replicator.alerts.rule_file import LABEL, NAME
from replicator.errors import ProcessError

LONGEST_S: Final = 366 * 86_400
MOST: Final = 1000
"""Silences at a time."""
_LONGEST_TEXT: Final = 200
ID: Final = re.compile(r"[0-9a-f]{12}")


class Matchers(msgspec.Struct, frozen=True, omit_defaults=True):
    """All that are given have to match. labels: of the task or of the rule."""

    rule: str = ""
    task: str = ""
    machine: str = ""
    labels: dict[str, str] = {}

    def match(self, rule: str, of: Scope, name: str, labels: Mapping[str, str]) -> bool:
        if self.rule and self.rule != rule:
            return False
        if self.task and (of != "task" or self.task != name):
            return False
        if self.machine and (of != "machine" or self.machine != name):
            return False
        return all(labels.get(key) == value for key, value in self.labels.items())

    def __str__(self) -> str:
        given = [("rule", self.rule), ("task", self.task), ("machine", self.machine)]
        texts = [f"{key} {value}" for key, value in given if value]
        return ", ".join([*texts, *(f"label {key}={value}" for key, value in self.labels.items())])


class Silence(msgspec.Struct, frozen=True, kw_only=True):
    """id: 12 hexadecimal digits."""

    id: str
    matchers: Matchers
    until_ms: int
    by: str
    reason: str
    created_ms: int

    def covers(self, rule: str, of: Scope, name: str, labels: Mapping[str, str], now_ms: int) -> bool:
        return now_ms < self.until_ms and self.matchers.match(rule, of, name, labels)


def covering(
    silences: Iterable[Silence], rule: str, of: Scope, name: str, labels: Mapping[str, str], now_ms: int
) -> Silence | None:
    """The one that lasts longest."""
    found = [each for each in silences if each.covers(rule, of, name, labels, now_ms)]
    return max(found, key=lambda each: (each.until_ms, each.id), default=None)


def check(matchers: Matchers, seconds: int, reason: str) -> None:
    """Raises ProcessError E5185."""
    if not (matchers.rule or matchers.task or matchers.machine or matchers.labels):
        raise _invalid("no matcher: it would silence everything", "a rule, a task, a machine or a label")
    if matchers.rule and NAME.fullmatch(matchers.rule) is None:
        raise _invalid(f"the rule {matchers.rule[:80]!r}", "the name of a rule")
    if matchers.task and matchers.machine:
        raise _invalid("a task and a machine: no alert is of both", "one of them")
    if len(matchers.labels) > 32 or not all(_is_label(key, value) for key, value in matchers.labels.items()):
        raise _invalid("labels that no task or rule can have", "KEY=VALUE")
    if not 0 < seconds <= LONGEST_S:
        raise _invalid(f"{seconds} s", f"1 s to {LONGEST_S // 86_400} days")
    texts = (reason, matchers.task, matchers.machine)
    if not reason.strip() or any(len(text) > _LONGEST_TEXT or not text.isprintable() for text in texts):
        raise _invalid("no reason, or a text of several lines", f"a reason of 1 to {_LONGEST_TEXT} characters")


def _is_label(key: str, value: str) -> bool:
    plain = key.replace("/", "_").replace("-", "_").replace(".", "_")
    return (LABEL.fullmatch(plain) is not None or plain.isalnum()) and len(value) <= _LONGEST_TEXT


def _invalid(found: str, wanted: str) -> ProcessError:
    return ProcessError("E5185", "the silence is not valid", found=found, wanted=wanted)
