"""docs/runbooks.md, from deploy/alerts.yaml: what each alert means and what to do."""

from __future__ import annotations

import re
from typing import Any

import yaml

from dev.paths import TREE

_HEAD = """# Runbooks

Made from `deploy/alerts.yaml` by `make docs`; do not edit. One section for each alert: when it fires, what it means,
and what to do first. The Monitor evaluates the alerts of the first part itself, too; those of the second part need the
time series of Prometheus.
"""
_PARTS = ("Alerts of Monitor and Prometheus", "Alerts of Prometheus alone")


def groups() -> list[dict[str, Any]]:
    """The groups of rules."""
    found: list[dict[str, Any]] = yaml.safe_load((TREE / "deploy" / "alerts.yaml").read_text())["groups"]
    return found


def page() -> str:
    parts = [_HEAD]
    for title, group in zip(_PARTS, groups(), strict=True):
        parts.append(f"## {title}\n")
        parts += [_section(rule) for rule in group["rules"]]
    return "\n".join(parts)


def _section(rule: dict[str, Any]) -> str:
    notes = rule["annotations"]
    lasting = f" for {rule['for']}" if "for" in rule else ""
    where = notes["see"].removeprefix("docs/")
    return f"""### {rule["alert"]}

*{rule["labels"]["severity"]}*: {_plain(notes["summary"])}

{_plain(notes["description"])} See [{where.partition("#")[0]}]({where}).

```promql
{rule["expr"]}
```

It fires once this has been true{lasting or " at one evaluation"}.
"""


def _plain(text: str) -> str:
    """Without the template's syntax: `{{ $labels.task }}` becomes the name of the label in capitals."""
    text = re.sub(r"\{\{ \$labels\.(\w+) \}\}", lambda found: found[1].upper(), text)
    return re.sub(r"\{\{ \$value(?: \| \w+)? \}\}", "N", text)
