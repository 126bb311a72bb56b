"""docs/alerts.md: the text of dev/pages/alerts.md around tables that are made from the code."""

from __future__ import annotations

from pathlib import Path

from replicator.alerts.durations import written
from replicator.alerts.figures import FIGURES, SCOPES
from replicator.alerts.rule_file import shipped

_TEXT = Path(__file__).with_name("alerts.md")


def page() -> str:
    text = _TEXT.read_text()
    return text.replace("<!-- rules -->\n", _rules()).replace("<!-- figures -->\n", _figures())


def _rules() -> str:
    lines = ["| rule | of | condition | for | severity | runbook |", "|---|---|---|---|---|---|"]
    for rule in shipped():
        page_, _, section = rule.runbook.removeprefix("docs/").partition("#")
        link = f"[runbook]({page_}#{section})"
        wait = written(rule.for_s) if rule.for_s else ""
        lines.append(f"| `{rule.name}` | {rule.of} | `{rule.when}` | {wait} | {rule.severity} | {link} |")
    return "\n".join(lines) + "\n"


def _figures() -> str:
    parts = []
    for scope, figures in FIGURES.items():
        lines = [f"### of: {scope}", "", f"There is one alert for {SCOPES[scope]}.", ""]
        lines += ["| figure | kind | meaning |", "|---|---|---|"]
        lines += [f"| `{name}` | {figure.kind} | {figure.meaning} |" for name, figure in figures.items()]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)
