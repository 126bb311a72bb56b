"""Renders a `View` as HTML: the whole page for a new browser, and fragments for updates.

A fragment is the HTML of one row, tile or list under a key. The page is made of the same fragments, so that what comes
with the stream can't look different from what came with the page.
"""

from __future__ import annotations

import functools
import shlex
from collections.abc import Sequence

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from monitor import formatting
from monitor.actions.catalog import Rights
from monitor.changes_joined import joined
from monitor.command_requests import curl_of
from monitor.documentation.places import code_page, docs_page, linked
from monitor.endpoints_seen import MOST, endpoints
from monitor.problems.joined import problems
from monitor.task_rows import LEASE_SHOWN, TaskRows, filled, without_lease
from monitor.view import TaskRow, View

TEMPLATES = ("outage", "notice", "tiles", "status", "footer")
OF_ONE_TASK = ("head", "facts")
RECENT = 15
"""Lines of changes on the first page."""


class Page(msgspec.Struct, frozen=True):
    """order: keys of the rows by list; html: every fragment by its key; read_ms, fresh_ms, stale: of the `View`."""

    read_ms: int
    fresh_ms: int
    stale: bool
    order: dict[str, list[str]]
    html: dict[str, str]


@functools.cache
def _environment() -> Environment:
    """Of all renderers of this process: each template is compiled once."""
    made = Environment(
        loader=PackageLoader("monitor"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        duration=formatting.duration,
        lag=formatting.lag,
        count=formatting.count,
        size=formatting.size,
        stamp=formatting.stamp,
        spark=formatting.spark,
        address=formatting.address,
        docs_page=docs_page,
        code_page=code_page,
        linked=linked,
        curl=curl_of,
        task_page=formatting.task_page,
        search=formatting.search,
        iso=formatting.iso,
        machine_page=formatting.machine_page,
        percent=formatting.percent,
        quoted=shlex.quote,
    )
    made.globals.update(ago=formatting.ago, clock=formatting.clock)
    return made


class Renderer:
    """Has the compiled templates, and the rows of tasks. Times in fragments are counted on by the script, and by
    `page`. Thread-safe."""

    def __init__(self) -> None:
        self._environment = _environment()
        self._rows = TaskRows(lambda **values: self._render("task", **values))

    def fragments(self, view: View, now_ms: int, *, alone: bool = False) -> Page:
        """Every fragment of the page. Times in them are told as of `now_ms`. `alone`: of the page of one task, which
        has its state and its facts beside."""
        html = {name: self._render(name, view=view, now=now_ms) for name in TEMPLATES}
        order: dict[str, list[str]] = {"problems": [], "endpoints": [], "tasks": [], "machines": [], "changes": []}
        if alone:
            order |= {kind: [] for kind in OF_ONE_TASK}

        def add(kind: str, name: str, template: str, **values: object) -> None:
            key = f"{kind}:{name}"
            order[kind].append(key)
            html[key] = self._render(template, key=key, now=now_ms, **values)

        for problem in problems(view):
            add("problems", problem.key, "problem", problem=problem)
        if not alone:
            add("endpoints", "zookeeper", "zookeeper", view=view)
            for endpoint in endpoints(view)[:MOST]:
                add("endpoints", endpoint.place, "endpoint", endpoint=endpoint)
        for task in view.tasks:
            if alone:
                shown = without_lease(task)
                for kind in OF_ONE_TASK:
                    add(kind, task.name, f"task_pages/{kind}", task=shown, lease_shown=LEASE_SHOWN)
            else:
                order["tasks"].append(f"tasks:{task.name}")
                html |= self._rows.fragments(task, now_ms)
        self._rows.forget(len(view.tasks), html)
        for machine in view.machines:
            add("machines", machine.host, "machine", machine=machine)
        if alone:
            for change in view.changes:
                add("changes", f"{change.task}/{change.sequence}", "change", change=change, line=None)
        else:
            order["all_changes"] = []
            for index, line in enumerate(joined(view.changes)):
                for kind in ("changes", "all_changes") if index < RECENT else ("all_changes",):
                    add(kind, line.key, "change", change=line.change, line=line)
        return Page(view.read_ms, int(view.fresh_s * 1000), view.stale_since_ms is not None, order, html)

    def part(self, template: str, now_ms: int, **values: object) -> str:
        """A part of a page, for the script that keeps it current."""
        return self._render(template, now=now_ms, **values)

    def details(self, task: TaskRow, now_ms: int) -> str:
        """What a row of the tasks table shows when it is opened."""
        return self._render("task_detail", key="", now=now_ms, task=without_lease(task), lease_shown=LEASE_SHOWN)

    def login(self, root: str, problem: str) -> str:
        """The login page."""
        return self._render("login", root=root, problem=problem)

    def no_task(self, root: str, name: str, *, known: bool) -> str:
        """`known`: False while nothing was read yet, so that nobody can tell."""
        return self._render("no_task", root=root, name=name, known=known)

    def page(self, template: str, page: Page, now_ms: int, **values: object) -> str:
        """The whole document. `template` extends base.html; `values` are what both need beside the fragments. They may
        have a `heading`, which the title shows, and the `rights` of the login."""

        def rows(kind: str, keys: Sequence[str] | None = None) -> Markup:
            """Of rows that were rendered earlier, times are told as of now: there may be no script. `keys`: of those
            that are shown, in their order; None: all."""
            chosen = page.order[kind] if keys is None else [key for key in keys if key in page.html]
            text = "".join(filled(key, page.html, now_ms) for key in chosen)
            return Markup(formatting.counted_on(text, now_ms))  # noqa: S704 - rendered with autoescape

        fragments = {name: Markup(page.html[name]) for name in TEMPLATES}  # noqa: S704 - rendered with autoescape above
        shared = {
            "page": page,
            "rows": rows,
            "fragments": fragments,
            "now_ms": now_ms,
            "now": now_ms,
            "heading": "",
            "rights": Rights(),
        }
        return self._render(template, **(shared | values))

    def _render(self, template: str, **values: object) -> str:
        return self._environment.get_template(f"{template}.html").render(values)
