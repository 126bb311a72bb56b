"""Whole documents: the frame that all pages have, around what each of them shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import HTMLResponse

from monitor.access import PRINCIPAL, Access
from monitor.actions.catalog import Rights
from monitor.feed import Feed
from monitor.navigation import NAVIGATION
from monitor.render import Renderer
from monitor.selected_feed import SelectedFeed
from replicator.coordination.clock import now_ms
from replicator.errors import ProcessError
from replicator.model.principal import Principal

NO_STORE: Final = {"cache-control": "no-store"}


class Documents:
    """
    Args:
        feed: of the fragments that a request may see, with the rows of one task or of all.
        access: None: everybody may read everything.
        rights: what a request may do through the Server.
        root: of the installation in ZooKeeper.
    """

    def __init__(
        self,
        renderer: Renderer,
        feed: Callable[[Request, str], Feed | SelectedFeed],
        access: Access | None,
        rights: Callable[[Request], Rights],
        root: str,
    ) -> None:
        self._renderer = renderer
        self._feed = feed
        self._access = access
        self._rights = rights
        self._root = root

    def refused(self, request: Request, error: ProcessError, *, task_name: str = "") -> HTMLResponse:
        """A page whose parameters are not valid."""
        values = {"error": error.to_dict(), "back": request.url.path}
        return self.answer(request, "refused", task_name=task_name, status=422, **values)

    def answer(
        self, request: Request, template: str, *, task_name: str = "", status: int = 200, **values: Any
    ) -> HTMLResponse:
        """
        Args:
            template: one that extends base.html.
            task_name: whose rows it has; "": those of all tasks.
            values: for the template.
        """
        # The version is read before the page: a fragment sent twice does no harm, one never sent would.
        feed = self._feed(request, task_name)
        version = feed.version
        principal: Principal | None = request.scope.get(PRINCIPAL)
        session = self._access.session(request.scope) if self._access is not None and principal is not None else None
        user, csrf = (principal.label, session.csrf) if principal is not None and session is not None else ("", "")
        text = self._renderer.page(
            template,
            feed.page,
            now_ms(),
            version=version,
            root=self._root,
            user=user,
            csrf=csrf,
            rights=self._rights(request),
            navigation=NAVIGATION,
            current=request.url.path,
            **{"task": None, "table": None, "heading": "", **values},
        )
        return HTMLResponse(text, status, headers=NO_STORE)
