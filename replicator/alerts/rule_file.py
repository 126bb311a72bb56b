"""Reads alert rules from YAML: the shipped ones, and a file that replaces, changes or disables them.

rules:
  - name: BusLag            # of a shipped rule: what is given replaces what it has
    when: lag_seconds > 60
  - name: BusCheckpointOld
    disabled: true
  - name: OrdersSlow        # a rule of the installation
    of: task
    tasks: team=orders
    when: lag_seconds > 5 AND rows_per_second > 0
    for: 2m
    severity: critical
    summary: "{task} is {lag_seconds} behind"
shipped: false              # leaves out all shipped rules that are not named
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, NoReturn

import msgspec

from replicator.alerts.condition import Invalid, compiled
from replicator.alerts.durations import seconds
from replicator.alerts.figures import FIGURES, SCOPES
from replicator.alerts.rule import SEVERITIES, Rule, places
from replicator.config.labels import parse_selector
from replicator.config.text import Document, parse
from replicator.errors import ConfigError, ProcessError

MOST: Final = 500
NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
LABEL: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_KEYS: Final = (
    *("name", "of", "when", "for", "keep", "severity", "summary", "runbook", "tasks", "labels", "disabled"),
)
_LONGEST: Final = {"summary": 500, "runbook": 500, "tasks": 1000}


@cache
def shipped() -> tuple[Rule, ...]:
    text = files("replicator.alerts").joinpath("shipped.yaml").read_text()
    return tuple(msgspec.structs.replace(rule, shipped=True) for rule in _Reader(parse(text), "", ()).rules())


def load(path: Path) -> tuple[Rule, ...]:
    """The rules of a file together with the shipped ones. Raises ProcessError E5180, E5181."""
    return rules(content(path), str(path))


def content(path: Path) -> bytes:
    """Raises ProcessError E5181."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise ProcessError("E5181", f"{path} can't be read", found=error.strerror or str(error)) from None


def rules(text: str | bytes, origin: str) -> tuple[Rule, ...]:
    """origin: name of the file, for errors. Raises ProcessError E5180."""
    try:
        document = parse(text)
    except ConfigError as error:
        raise ProcessError("E5180", f"{origin}: {error.what}", found=error.found, wanted=error.wanted) from None
    return _Reader(document, origin, shipped()).rules()


class _Reader:
    def __init__(self, document: Document, origin: str, base: tuple[Rule, ...]) -> None:
        self._document = document
        self._origin = origin
        self._base = {rule.name: rule for rule in base}

    def rules(self) -> tuple[Rule, ...]:
        data = self._document.data
        if not isinstance(data, dict):
            self._refuse((), _kind(data), "a mapping with the key rules")
        for key in data:
            if key not in ("rules", "shipped"):
                self._refuse((key,), f"the key '{key}'", "rules and shipped")
        given, use_shipped = data.get("rules") or [], data.get("shipped", True)
        if not isinstance(use_shipped, bool):
            self._refuse(("shipped",), _kind(use_shipped), "true or false")
        if not isinstance(given, list) or len(given) > MOST:
            self._refuse(("rules",), _kind(given), f"a list of at most {MOST} rules")
        found = dict(self._base) if use_shipped else {}
        seen: set[str] = set()
        for number, item in enumerate(given):
            name = self._name(item, number)
            if name in seen:
                self._refuse(("rules", number), f"two rules with the name {name}", "each name once")
            seen.add(name)
            if item.get("disabled", False) is True:
                if name not in self._base:
                    self._refuse(("rules", number), f"{name}, disabled", "the name of a shipped rule")
                found.pop(name, None)
            else:
                found[name] = self._rule(item, number, self._base.get(name))
        return tuple(found.values())

    def _name(self, item: Any, number: int) -> str:
        at = ("rules", number)
        if not isinstance(item, dict):
            self._refuse(at, _kind(item), "a mapping with the keys of a rule")
        for key in item:
            if key not in _KEYS:
                self._refuse((*at, key), f"the key '{key}'", ", ".join(_KEYS))
        name = item.get("name")
        if not isinstance(name, str) or NAME.fullmatch(name) is None:
            self._refuse((*at, "name"), f"the name {name!r}", "a letter, then letters, digits and _, at most 64")
        if not isinstance(item.get("disabled", False), bool):
            self._refuse((*at, "disabled"), _kind(item["disabled"]), "true or false")
        return name

    def _rule(self, item: dict[str, Any], number: int, base: Rule | None) -> Rule:
        at = ("rules", number)
        scope = item.get("of", base.of if base else None)
        if scope not in SCOPES:
            self._refuse((*at, "of"), f"of: {scope!r}", ", ".join(SCOPES))
        if base is not None and scope != base.of:
            self._refuse((*at, "of"), f"{base.name} of a {scope}", f"of: {base.of}, or another name")
        severity = item.get("severity", base.severity if base else "warning")
        if severity not in SEVERITIES:
            self._refuse((*at, "severity"), f"the severity {severity!r}", ", ".join(SEVERITIES))
        rule = Rule(
            name=item["name"],
            of=scope,
            when=self._text(item, at, "when", base.when if base else None),
            for_s=self._duration(item, at, "for", base.for_s if base else 0),
            keep_s=self._duration(item, at, "keep", base.keep_s if base else 0),
            severity=severity,
            summary=self._text(item, at, "summary", base.summary if base else None),
            runbook=self._text(item, at, "runbook", base.runbook if base else ""),
            tasks=self._text(item, at, "tasks", base.tasks if base else ""),
            labels=self._labels(item, at, base.labels if base else {}),
        )
        self._check(rule, at)
        return rule

    def _check(self, rule: Rule, at: tuple[str | int, ...]) -> None:
        try:
            compiled(rule.when, rule.of)
        except Invalid as error:
            self._refuse((*at, "when"), f"{error.found} in the condition of {rule.name}", error.wanted)
        for name in places(rule.summary):
            if name not in FIGURES[rule.of]:
                figures = ", ".join(FIGURES[rule.of])
                self._refuse((*at, "summary"), f"{{{name}}} in the summary of {rule.name}", f"one of {figures}")
        if rule.tasks and rule.of != "task":
            self._refuse((*at, "tasks"), f"tasks of a rule of a {rule.of}", "of: task")
        if rule.tasks:
            try:
                parse_selector(rule.tasks)
            except ConfigError as error:
                self._refuse((*at, "tasks"), f"the selector '{rule.tasks}': {error.what}", "such as env=prod")

    def _text(self, item: dict[str, Any], at: tuple[str | int, ...], key: str, default: str | None) -> str:
        text = item.get(key, default)
        if text is None:
            self._refuse((*at, key), f"{item['name']} without {key}", f"the key {key}")
        if not isinstance(text, str) or (key in ("when", "summary") and not text.strip()):
            self._refuse((*at, key), _kind(text), "a text")
        longest = _LONGEST.get(key, 1000)
        if len(text) > longest or not text.isprintable():
            self._refuse((*at, key), f"{len(text)} characters", f"at most {longest}, in one line")
        return text

    def _duration(self, item: dict[str, Any], at: tuple[str | int, ...], key: str, default: int) -> int:
        if key not in item:
            return default
        try:
            return seconds(item[key])
        except ValueError as error:
            self._refuse((*at, key), f"{key}: {str(item[key])[:80]}", str(error))

    def _labels(self, item: dict[str, Any], at: tuple[str | int, ...], default: dict[str, str]) -> dict[str, str]:
        labels = item.get("labels", default)
        if not isinstance(labels, dict) or len(labels) > 32:
            self._refuse((*at, "labels"), _kind(labels), "a mapping of at most 32 labels")
        for key, value in labels.items():
            if LABEL.fullmatch(key) is None or not isinstance(value, str) or len(value) > 200:
                self._refuse((*at, "labels", key), f"the label {key}: {value!r}"[:120], "a name, and a text in quotes")
        return labels

    def _refuse(self, path: tuple[str | int, ...], found: str, wanted: str) -> NoReturn:
        line = self._document.line_of(path)
        where = f"{self._origin or 'the rules'}, line {line}" if line else self._origin or "the rules"
        raise ProcessError("E5180", f"{where}: an alert rule is not valid", found=found, wanted=wanted)


def _kind(value: Any) -> str:
    names = {dict: "a mapping", list: "a list", str: "a text", bool: "true or false", type(None): "nothing"}
    return names.get(type(value), f"the number {value}"[:80])
