"""The tabs of a task's page, put together."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from starlette.requests import Request
from starlette.routing import BaseRoute

from monitor.charts import Charts
from monitor.documents import Documents
from monitor.history.history import History
from monitor.render import Renderer
from monitor.role_changes import Change
from monitor.task_pages.checkpoints_tab import CheckpointsTab
from monitor.task_pages.checks_tab import ChecksTab
from monitor.task_pages.configuration_tab import ConfigurationTab
from monitor.task_pages.errors_tab import ErrorsTab
from monitor.task_pages.members_tab import MembersTab
from monitor.task_pages.overview_tab import OverviewTab
from monitor.task_pages.pages import TaskPages
from monitor.task_pages.tab import Tab
from monitor.task_pages.tables_tab import TablesTab
from monitor.task_pages.task_nodes import TaskNodes
from monitor.task_pages.throughput_tab import ThroughputTab
from monitor.task_pages.timeline_tab import TimelineTab
from monitor.view import View
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator


class TaskPagesOf:
    """
    Args:
        seen: what the login of a request may see.
        measured: changes of a task that the Monitor has seen, the newest first.
        coordinator: only read from, when a page asks.
    """

    def __init__(
        self,
        seen: Callable[[Request], View],
        documents: Documents,
        renderer: Renderer,
        history: History,
        measured: Callable[[str], Sequence[Change]],
        coordinator: Coordinator,
        layout: Layout,
    ) -> None:
        self._charts = Charts(history)
        self.nodes = TaskNodes(coordinator, layout)
        timeline = TimelineTab(self.nodes, measured)
        tabs: tuple[Tab, ...] = (
            OverviewTab(self._charts),
            ThroughputTab(self._charts),
            MembersTab(),
            timeline,
            CheckpointsTab(self.nodes),
            TablesTab(self.nodes),
            ErrorsTab(self.nodes),
            ConfigurationTab(self.nodes),
            ChecksTab(self.nodes),
        )
        self._pages = TaskPages(tabs, seen, documents, renderer, self._charts, timeline, layout.root)

    def routes(self) -> list[BaseRoute]:
        return self._pages.routes()

    def close(self) -> None:
        self._charts.close()
        self.nodes.close()
