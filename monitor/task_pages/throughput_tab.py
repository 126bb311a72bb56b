"""Lag, rates and times of the stages over 15 minutes to a year."""

from __future__ import annotations

from monitor.charts import Charts, ChartWords
from monitor.task_pages.tab import Asked


class ThroughputTab:
    key, title, every_s = "throughput", "Throughput", 5.0

    def __init__(self, charts: Charts) -> None:
        self._charts = charts

    async def content(self, asked: Asked) -> ChartWords:
        return await self._charts.words(asked.task.name, asked.query)
