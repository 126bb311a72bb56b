"""`python -m dev.docs`: writes the pages under docs/ and the dashboards under deploy/grafana that are made from code.
`--check` only compares."""

from __future__ import annotations

import sys

from dev.faults.page import page as faults_page
from dev.grafana.dashboards import DASHBOARDS
from dev.pages import alerts, configuration, errors, http_api, runbooks
from dev.paths import TREE
from dev.progress import say
from replicator.config import json_schema

PAGES = {
    "docs/alerts.md": alerts.page,
    "docs/api.md": http_api.page,
    "docs/configuration.md": configuration.page,
    "docs/errors.md": errors.page,
    "docs/faults.md": faults_page,
    "docs/runbooks.md": runbooks.page,
    "docs/task.schema.json": json_schema.text,
    **{f"deploy/grafana/{name}.json": dashboard.text for name, dashboard in DASHBOARDS.items()},
}


def main() -> int:
    stale = []
    for name, page in PAGES.items():
        path, text = TREE / name, page()
        if path.exists() and path.read_text() == text:
            continue
        stale.append(name)
        if "--check" not in sys.argv:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            say(f"wrote {name}")
    if stale and "--check" in sys.argv:
        say(f"out of date: {', '.join(stale)}; run `make docs`")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
