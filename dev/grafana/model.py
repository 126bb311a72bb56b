"""Panels and dashboards of Grafana as JSON. Nothing here knows the bus."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

SCHEMA_VERSION: Final = 39
"""Of Grafana 10.4; later versions migrate it."""
WIDTH: Final = 24
SOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}
TAG: Final = "mysql-replicator"

Json = dict[str, Any]


@dataclass(frozen=True)
class Query:
    """`table`: the present value of each series, for a table."""

    expr: str
    legend: str = ""
    table: bool = False


@dataclass(frozen=True)
class Panel:
    """
    Attributes:
        kind: "stat", "timeseries", "table", "state-timeline" or "heatmap".
        unit: as Grafana names units.
        steps: (value from which on, colour), ascending; the first value is ignored.
        width, height: in columns of 24 and rows.
        extra: joined with the panel, for what only this one has.
        minimum: of the axis, None: as the data.
    """

    title: str
    kind: str
    queries: Sequence[Query]
    description: str
    unit: str = "short"
    steps: Sequence[tuple[float, str]] = ()
    width: int = 8
    height: int = 8
    stacked: bool = False
    minimum: float | None = 0
    extra: Json | None = None


@dataclass(frozen=True)
class Row:
    title: str
    panels: Sequence[Panel]
    repeat: str = ""


@dataclass(frozen=True)
class Variable:
    """A variable with the values of a label. `several`: more than one may be chosen, and all are at first."""

    name: str
    label: str
    query: str
    several: bool = True


@dataclass(frozen=True)
class Dashboard:
    uid: str
    title: str
    description: str
    variables: Sequence[Variable]
    rows: Sequence[Row]
    annotations: Sequence[Json]
    since: str = "now-1h"

    def text(self) -> str:
        """The file's content."""
        return json.dumps(self.json(), indent=2, ensure_ascii=False) + "\n"

    def json(self) -> Json:
        return {
            "uid": self.uid,
            "title": self.title,
            "description": self.description,
            "tags": [TAG],
            "schemaVersion": SCHEMA_VERSION,
            "version": 1,
            "editable": True,
            "graphTooltip": 1,
            "timezone": "browser",
            "refresh": "10s",
            "time": {"from": self.since, "to": "now"},
            "links": [
                {
                    "title": "mysql-replicator",
                    "type": "dashboards",
                    "tags": [TAG],
                    "asDropdown": True,
                    "includeVars": True,
                    "keepTime": True,
                }
            ],
            "annotations": {"list": list(self.annotations)},
            "templating": {"list": [_DATASOURCE, *map(_variable, self.variables)]},
            "panels": _panels(self.rows),
        }


_DATASOURCE: Final[Json] = {
    "name": "datasource",
    "label": "Prometheus",
    "type": "datasource",
    "query": "prometheus",
    "current": {},
    "refresh": 1,
}


def _variable(variable: Variable) -> Json:
    everything = {"text": ["All"], "value": ["$__all"]}
    return {
        "name": variable.name,
        "label": variable.label,
        "type": "query",
        "datasource": SOURCE,
        "query": {"query": variable.query, "refId": variable.name},
        "refresh": 2,
        "sort": 1,
        "multi": variable.several,
        "includeAll": variable.several,
        "current": everything if variable.several else {},
    }


def annotation(name: str, expr: str, title: str, text: str, colour: str) -> Json:
    """Marks in all panels where `expr` has a value."""
    return {
        "name": name,
        "datasource": SOURCE,
        "enable": True,
        "expr": expr,
        "step": "15s",
        "titleFormat": title,
        "textFormat": text,
        "iconColor": colour,
    }


def _panels(rows: Sequence[Row]) -> list[Json]:
    """Panels from left to right, in lines that are as high as their highest panel."""
    placed: list[Json] = []
    y = 0
    for row in rows:
        head: Json = {"type": "row", "title": row.title, "collapsed": False, "panels": []}
        if row.repeat:
            head["repeat"] = row.repeat
        placed.append({**head, "gridPos": {"x": 0, "y": y, "w": WIDTH, "h": 1}})
        y += 1
        x = highest = 0
        for panel in row.panels:
            if x + panel.width > WIDTH:
                y, x, highest = y + highest, 0, 0
            at = {"x": x, "y": y, "w": panel.width, "h": panel.height}
            placed.append({**_panel(panel), "gridPos": at})
            x, highest = x + panel.width, max(highest, panel.height)
        y += highest
    return [{"id": number, **panel} for number, panel in enumerate(placed, 1)]


def _panel(panel: Panel) -> Json:
    made: Json = {
        "type": panel.kind,
        "title": panel.title,
        "description": panel.description,
        "datasource": SOURCE,
        "targets": [_target(query, chr(ord("A") + number)) for number, query in enumerate(panel.queries)],
        "fieldConfig": {"defaults": _defaults(panel), "overrides": []},
        "options": _OPTIONS.get(panel.kind, {}),
    }
    for key, value in (panel.extra or {}).items():
        made[key] = {**made[key], **value} if isinstance(made.get(key), dict) else value
    return made


def _target(query: Query, name: str) -> Json:
    shape = {"format": "table", "instant": True} if query.table else {"range": True}
    return {"refId": name, "datasource": SOURCE, "expr": query.expr, "legendFormat": query.legend or "__auto", **shape}


def _defaults(panel: Panel) -> Json:
    steps = [
        {"color": colour, "value": None if number == 0 else value} for number, (value, colour) in enumerate(panel.steps)
    ]
    found: Json = {
        "unit": panel.unit,
        "thresholds": {"mode": "absolute", "steps": steps or [{"color": "green", "value": None}]},
    }
    if panel.kind == "stat":
        found["color"] = {"mode": "thresholds"}
        return found
    if panel.kind == "timeseries":
        if panel.minimum is not None:
            found["min"] = panel.minimum
        stacking = {"mode": "normal" if panel.stacked else "none"}
        lines = {"mode": "dashed" if len(steps) > 1 else "off"}
        found["custom"] = {
            "lineWidth": 1,
            "fillOpacity": 30 if panel.stacked else 8,
            "showPoints": "never",
            "spanNulls": False,
            "stacking": stacking,
            "thresholdsStyle": lines,
        }
    return found


_OPTIONS: Final[dict[str, Json]] = {
    "stat": {
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        "colorMode": "background",
        "graphMode": "area",
        "textMode": "auto",
    },
    "timeseries": {
        "legend": {"displayMode": "table", "placement": "bottom", "calcs": ["lastNotNull", "max"]},
        "tooltip": {"mode": "multi", "sort": "desc"},
    },
    "state-timeline": {
        "mergeValues": True,
        "showValue": "never",
        "rowHeight": 0.8,
        "legend": {"displayMode": "list", "placement": "bottom"},
    },
    "table": {"showHeader": True, "cellHeight": "sm", "footer": {"show": False}},
}
