"""The Monitor's HTTP face. Every answer is made from the last snapshot; nothing here talks to ZooKeeper.

/                 the dashboard
/changes          all changes that are known
/events           server-sent events: what changed on it
/api/updates      the same for browsers that poll
/tasks/NAME       the page of a task, /tasks/NAME/TAB its tabs, /api/tasks/NAME/...: see task_pages/pages.py
/machines         machines, Servers and Monitors, /machines/HOST one of them, /api/machines/...: see machine_pages.py
/api/state        the snapshot as JSON
/metrics          Prometheus
/alerts           what fires, what is silenced, and what has fired
/api/alerts       the same as JSON
/alerts/test      POST: a test message of a route
/healthz          200 while the process lives; says what it knows of ZooKeeper
/healthz/ready    200 while figures are current, else 503
/docs, /codes/CODE   the documentation and error codes; see `monitor.documentation.pages`
/login, /logout   where logins are required, or may be used to act
/audit            who did what; see `monitor.audit_page`
/tasks/NAME/actions, /machines/HOST/actions   see `monitor.actions.pages`
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from starlette.applications import Starlette
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from monitor.access import PRINCIPAL, Access, Guard
from monitor.actions.catalog import Rights, rights_of
from monitor.actions.pages import ActionPages
from monitor.actions.steps import Steps
from monitor.alerts.alerting import Alerting
from monitor.alerts.page import AlertsPage
from monitor.alerts.sender import Sender, problem_line
from monitor.alerts.service import Alerts
from monitor.alerts.subjects import Subjects
from monitor.answers import json_answer
from monitor.audit_page import AuditPage
from monitor.changes_page import ChangesPage
from monitor.documentation.pages import DocumentationPages
from monitor.documents import NO_STORE, Documents
from monitor.event_stream import EventStream
from monitor.feed import Feed, parts_of
from monitor.formatting import duration, stamp
from monitor.history.history import History
from monitor.history.kept import Kept
from monitor.login_page import LoginPage
from monitor.machine_pages import MachinePages
from monitor.metrics import CONTENT_TYPE, exposition
from monitor.overview_page import OverviewPage
from monitor.person import person_of
from monitor.person_api import PersonApi
from monitor.render import Renderer
from monitor.selected_feed import SelectedFeed, SelectedFeeds
from monitor.selected_view import of_task, selected
from monitor.server_api import ServerApi
from monitor.snapshot_poller import SnapshotPoller
from monitor.task_pages.assembled import TaskPagesOf
from monitor.unlock_page import UnlockPage
from monitor.view import View
from replicator.coordination.clock import now_ms
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator
from replicator.errors import NotConnected
from replicator.model.principal import Principal
from replicator.telemetry import hosts
from replicator.telemetry.login_throttle import LoginThrottle
from replicator.telemetry.server_certificate import ServerCertificate
from replicator.telemetry.zookeeper_requests import REQUESTS

STATIC = Path(__file__).parent / "static"


class Monitor:
    """The handlers and what they answer from."""

    def __init__(
        self,
        poller: SnapshotPoller,
        feed: Feed,
        metric_labels: Sequence[str],
        access: Access | None,
        certificate: ServerCertificate | None,
        history: History,
        api: ServerApi | None,
        process: str,
        alerts: Alerts,
        sender: Sender,
        coordinator: Coordinator,
        layout: Layout,
    ) -> None:
        self._sender = sender
        self._certificate = certificate
        self._api = api
        self._watcher = poller
        self._access = access
        self._metric_labels = metric_labels
        self._renderer = Renderer()
        self._feeds = SelectedFeeds(
            feed,
            lambda selector, task: self._renderer.fragments(self._seen(selector, task), now_ms(), alone=bool(task)),
        )
        self._documents = Documents(
            self._renderer,
            lambda request, task: self._feeds.of(_selector(request), task),
            access,
            self._rights,
            layout.root,
        )
        persons = PersonApi(api, process) if api is not None else None
        throttle = LoginThrottle()
        self._of_logins = (
            (LoginPage(access, self._renderer, layout.root, throttle), UnlockPage(access, self._documents, throttle))
            if access is not None
            else ()
        )
        self._actions = ActionPages(
            self._seen_by,
            self._rights,
            access,
            self._documents,
            self._renderer,
            Steps(persons) if persons is not None else None,
            layout.root,
        )
        self._audit = AuditPage(self._rights, access, self._documents, persons)
        self._overview = OverviewPage(self._seen_by, self._documents, self._renderer)
        self.task_pages = TaskPagesOf(
            self._seen_by,
            self._documents,
            self._renderer,
            history,
            poller.changes_of,
            coordinator,
            layout,
        )
        self._alerts_page = AlertsPage(self._seen_by, self._documents, self._renderer, alerts, sender, access)

        self.machine_pages = MachinePages(
            self._seen_by,
            self._documents,
            self._renderer,
            history,
            poller.changes_of,
        )

    def _rights(self, request: Request) -> Rights:
        principal: Principal | None = request.scope.get(PRINCIPAL)
        return rights_of(
            self._api.server if self._api is not None else "",
            principal,
            in_session=person_of(request, self._access) is not None,
            offered=self._access is not None and self._access.offered,
        )

    def _seen_by(self, request: Request) -> View:
        return self._seen(_selector(request))

    def _seen(self, selector: str, task: str = "") -> View:
        view = selected(self._watcher.view, selector)
        return of_task(view, task, self._watcher.changes_of(task)) if task else view

    def _feed(self, request: Request) -> Feed | SelectedFeed:
        """`task`: of a page of one."""
        return self._feeds.of(_selector(request), request.query_params.get("task", ""))

    async def updates(self, request: Request) -> Response:
        query = request.query_params
        return json_answer(self._feed(request).since(query.get("since", ""), parts_of(query.get("parts"))))

    async def state(self, request: Request) -> Response:
        return json_answer(self._seen_by(request))

    async def metrics(self, request: Request) -> Response:
        view, streams = self._seen_by(request), self._feeds.of("").streams
        text = exposition(
            view,
            streams=streams,
            labels=self._metric_labels,
            listener=self._certificate,
            requests=REQUESTS.histogram(),
            sender=self._sender.view,
        )
        return Response(text, media_type=CONTENT_TYPE, headers=NO_STORE)

    async def live(self, request: Request) -> Response:
        return self._health(request, self._watcher.view, 200)

    async def ready(self, request: Request) -> Response:
        view = self._watcher.view
        return self._health(request, view, 200 if view.zookeeper_connected else 503)

    def _health(self, request: Request, view: View, status: int) -> Response:
        """The process is well (first line) wherever it answers; the second line is about ZooKeeper. Everybody may read
        it: with logins it names no addresses."""
        if self._access is not None and self._access.required:
            view = msgspec.structs.replace(view, stale_reason="" if view.stale_code else "not connected")
        first = "ok" if status == 200 else "not ready"
        alerts = filter(None, [problem_line(self._sender.view)])
        lines = (first, zookeeper_line(view), *alerts, *view.warnings, *hosts.warnings(request.scope))
        return PlainTextResponse("".join(f"{line}\n" for line in lines), status, headers=NO_STORE)

    def stream(self, request: Request) -> EventStream:
        version = request.headers.get("last-event-id") or request.query_params.get("since", "")
        parts = parts_of(request.query_params.get("parts"))
        return EventStream(self._feed(request), version, may_read=lambda: self._may_read(request), parts=parts)

    async def _may_read(self, request: Request) -> bool:
        """Whether the login of a stream still holds: it may be revoked, or see other tasks, while the stream lasts."""
        if self._access is None or not self._access.required:
            return True
        try:
            return await self._access.principal(request.scope) == request.scope.get(PRINCIPAL)
        except NotConnected:
            return False

    def routes(self) -> list[BaseRoute]:
        async def events(request: Request) -> Response:
            return self.stream(request)  # type: ignore[return-value]  # an ASGI application is all Starlette asks for

        return [
            *self._overview.routes(),
            *ChangesPage(self._documents).routes(),
            *DocumentationPages(self._seen_by, self._documents).routes(),
            Route("/events", events),
            Route("/api/updates", self.updates),
            Route("/api/state", self.state),
            *self._actions.routes(),
            *self._audit.routes(),
            *self.task_pages.routes(),
            *self._alerts_page.routes(),
            *self.machine_pages.routes(),
            Route("/metrics", self.metrics),
            Route("/healthz", self.live),
            Route("/healthz/live", self.live),
            Route("/healthz/ready", self.ready),
            *(route for page in self._of_logins for route in page.routes()),
            Mount("/static", StaticFiles(directory=STATIC)),
        ]


def create_app(
    coordinator: Coordinator,
    layout: Layout,
    *,
    interval: float = 1.0,
    max_streams: int = 100,
    zookeeper: str = "",
    warnings: tuple[str, ...] = (),
    metric_labels: Sequence[str] = (),
    access: Access | None = None,
    certificate: ServerCertificate | None = None,
    history: History | None = None,
    api: ServerApi | None = None,
    process: str = "",
    alerting: Alerting | None = None,
) -> Starlette:
    """The application; its lifespan runs the poller.

    Args:
        coordinator: only read from, by the poller's thread. The caller closes it.
        layout: the root to look at.
        interval: seconds between two snapshots.
        max_streams: browsers with an event stream at a time; more of them poll.
        zookeeper: the addresses that the coordinator uses, for the page; warnings: what is insecure about them.
        metric_labels: keys of tasks' labels that `bus_task_labels_info` has.
        access: None: everybody may read everything.
        certificate: of the listener, for the metrics.
        api: the Server, for people who act; None: the Monitor only shows. Closed with the application.
        process: id of this Monitor in the tree, by which it knows that the Server is of the same one.
        history: of the charts; its thread runs as long as the application. None: in memory.
        alerting: rules and routes of alerts. None: the shipped rules, no routes, in memory.
    """
    feed = Feed(max_streams)
    kept = history or Kept(None, 0).opened()

    def marked(view: View) -> View:
        return alerts.marked(view)

    def listener() -> tuple[int, bool] | None:
        return (certificate.expires_ms, bool(certificate.problem)) if certificate is not None else None

    subjects = Subjects(lambda task: poller.changes_of(task), listener)
    alerts, sender = (alerting or Alerting()).opened(coordinator, layout, lambda: poller.view, subjects)
    poller = SnapshotPoller(coordinator, layout, feed, interval, zookeeper, warnings, seen=kept.note, marked=marked)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        feed.attach(asyncio.get_running_loop())
        kept.start()
        poller.start()
        alerts.start()
        sender.start()
        yield
        feed.close()
        await asyncio.to_thread(sender.stop)
        await asyncio.to_thread(alerts.stop)
        await asyncio.to_thread(poller.stop)
        await asyncio.to_thread(kept.stop)
        monitor.task_pages.close()
        monitor.machine_pages.close()
        if access is not None:
            access.close()
        if api is not None:
            api.close()

    monitor = Monitor(
        poller,
        feed,
        metric_labels,
        access,
        certificate,
        kept,
        api,
        process,
        alerts,
        sender,
        coordinator,
        layout,
    )
    app = Starlette(routes=monitor.routes(), lifespan=lifespan)
    app.add_middleware(GZipMiddleware, minimum_size=2000, compresslevel=5)  # but event streams
    if access is not None:
        app.add_middleware(Guard, access=access)
    app.state.feed = feed
    app.state.poller = poller
    app.state.history = kept
    app.state.alerts = alerts
    app.state.task_pages = monitor.task_pages
    return app


def _selector(request: Request) -> str:
    principal: Principal | None = request.scope.get(PRINCIPAL)
    return principal.selector if principal is not None else ""


def zookeeper_line(view: View) -> str:
    """`zookeeper: connected, figures read 0.4 s ago`, or since when there are none, and why."""
    if view.zookeeper_connected:
        return f"zookeeper: connected, figures read {duration(view.age_s or 0.0)} ago"
    why = f"{view.stale_code} {view.stale_reason}".strip() or "not connected"
    if view.age_s is None:
        return f"zookeeper: nothing was ever read since the start at {stamp(view.stale_since_ms or 0)} ({why})"
    return f"zookeeper: no data since {stamp(view.read_ms)}, for {duration(view.age_s)} ({why})"
