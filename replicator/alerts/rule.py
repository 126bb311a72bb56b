"""One alert rule, and the sentence that it makes of figures."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

import msgspec

from replicator.alerts.condition import Test, compiled
from replicator.alerts.durations import spoken
from replicator.alerts.figures import FIGURES, Scope, Value

Severity: TypeAlias = Literal["critical", "warning", "info"]
SEVERITIES: Final[tuple[Severity, ...]] = ("critical", "warning", "info")
"""The worst first."""
_PLACE: Final = re.compile(r"\{([^{}]*)\}")


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """
    Attributes:
        of: what the condition is about; an alert is of one task, machine, and so on.
        when: the condition.
        for_s: seconds for which the condition has to be known to hold before the alert fires.
        keep_s: seconds for which the condition has to be known not to hold before the alert ends.
        summary: a sentence with figures in braces.
        runbook: a page of the documentation, or a URL.
        tasks: selector of labels; "" for all tasks. Only of rules about tasks.
        labels: for routes.
        shipped: as it comes with the product, not changed by a file.
    """

    name: str
    of: Scope
    when: str
    for_s: int = 0
    keep_s: int = 0
    severity: Severity = "warning"
    summary: str = ""
    runbook: str = ""
    tasks: str = ""
    labels: dict[str, str] = {}
    shipped: bool = False

    def test(self) -> Test:
        return compiled(self.when, self.of)


def places(summary: str) -> list[str]:
    """Names of the figures in a summary."""
    return _PLACE.findall(summary)


def sentence(rule: Rule, figures: Mapping[str, Value]) -> str:
    """The summary with figures as people read them; `an unknown time` and so on where they are not known."""
    kinds = FIGURES[rule.of]

    def shown(match: re.Match[str]) -> str:
        kind, value = kinds[match[1]].kind, figures.get(match[1])
        if value is None or value == "":
            return "an unknown time" if kind == "seconds" else "unknown"
        if kind == "seconds":
            return spoken(float(value))
        if kind == "flag":
            return "yes" if value else "no"
        return f"{value:g}" if isinstance(value, float) else str(value)

    return _PLACE.sub(shown, rule.summary)
