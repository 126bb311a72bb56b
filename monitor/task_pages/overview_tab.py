"""The first tab: what the task does now, in groups; its last quarter of an hour; its last changes."""

from __future__ import annotations

import msgspec

from monitor.charts import Charts, ChartWords
from monitor.task_pages.tab import Asked
from monitor.view import TaskRow


class Overview(msgspec.Struct, frozen=True):
    """charts: of the last 15 min, in words."""

    task: TaskRow
    charts: ChartWords


class OverviewTab:
    key, title, every_s = "", "Overview", 5.0

    def __init__(self, charts: Charts) -> None:
        self._charts = charts

    async def content(self, asked: Asked) -> Overview:
        return Overview(asked.task, await self._charts.words(asked.task.name, asked.query))
