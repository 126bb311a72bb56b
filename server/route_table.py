"""Finds the operation that a request is for, before the application sees the request."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.routing import compile_path

from replicator.coordination.layout import unescape


class Found(NamedTuple):
    """operation: "" for a path or a method that there is not; allowed: the methods of the path; name: parameter of the
    path, as the operation sees it; has_dry_run: the operation changes nothing when it is told so."""

    operation: str
    allowed: tuple[str, ...] = ()
    name: str = ""
    of_task: bool = False
    has_dry_run: bool = False


class _Entry(NamedTuple):
    pattern: re.Pattern[str]
    method: str
    operation: str
    of_task: bool
    has_dry_run: bool


class RouteTable:
    """All that the application answers; what is not in it is refused."""

    def __init__(self, routers: Iterable[tuple[str, APIRouter]]) -> None:
        self._entries: list[_Entry] = []
        for prefix, router in routers:
            for route in router.routes:
                assert isinstance(route, APIRoute) and route.operation_id  # noqa: S101
                pattern = compile_path(prefix + route.path)[0]
                of_task = route.path.startswith("/tasks/{name}")
                assert of_task or not route.path.startswith("/tasks/")  # noqa: S101 - selectors are checked by the name
                dry_run = any(each.name == "dry_run" for each in route.dependant.query_params)
                self._entries += [
                    _Entry(pattern, each, route.operation_id, of_task, dry_run) for each in route.methods or ()
                ]

    @property
    def operations(self) -> set[str]:
        return {entry.operation for entry in self._entries}

    def find(self, method: str, path: str) -> Found:
        matching = [(entry, match) for entry in self._entries if (match := entry.pattern.match(path))]
        for entry, match in matching:
            if entry.method == method:
                name = unescape(match.groupdict().get("name") or "")
                return Found(entry.operation, (), name, entry.of_task, entry.has_dry_run)
        return Found("", tuple(sorted({entry.method for entry, _ in matching})))
