"""Asks the Server for a person, after making sure that it is a Server of what the Monitor shows."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Final

from monitor.person import Person
from monitor.server_api import Answer, ServerApi
from replicator.errors import ProcessError

_CHECKED_SECONDS: Final = 60.0


class PersonApi:
    """Of the event loop.

    A Server of another ZooKeeper or root may have tasks and people of the same names, as a copy for tests that was
    restored from a backup has them. The Server lists the processes of its tree: where this Monitor is not one of them,
    nothing is asked.

    Args:
        process: id of this Monitor in the tree; "": it is not registered, and the Server is trusted.
    """

    def __init__(self, api: ServerApi, process: str = "", clock: Callable[[], float] = time.monotonic) -> None:
        self._api = api
        self._process = process
        self._clock = clock
        self._checked: float | None = None

    @property
    def server(self) -> str:
        return self._api.server

    async def ask(
        self,
        person: Person,
        address: str,
        method: str,
        path: str,
        *,
        body: Mapping[str, str] | None = None,
        params: Mapping[str, str] | None = None,
        version: int | None = None,
        key: str = "",
    ) -> Answer:
        """See `ServerApi.ask`."""
        if not person.authorization:
            return Answer(status=403, error=ProcessError("E5006", "the password has to be given again").to_dict())
        other = await self._other_tree(person, address)
        if other is not None:
            return other
        return await self._api.ask(
            method,
            path,
            authorization=person.authorization,
            address=address,
            body=body,
            params=params,
            version=version,
            key=key,
        )

    async def _other_tree(self, person: Person, address: str) -> Answer | None:
        """None: it is the same."""
        fresh = self._checked is not None and self._clock() - self._checked < _CHECKED_SECONDS
        if not self._process or fresh:
            return None
        answer = await self._api.ask("GET", "/processes", authorization=person.authorization, address=address)
        if answer.error:
            return answer
        if any(one.get("id") == self._process for one in answer.content.get("items", [])):
            self._checked = self._clock()
            return None
        error = ProcessError(
            "E5134",
            f"the Server at {self.server} does not see this Monitor",
            found="the processes of its tree, without this one",
            wanted="a Server with the same --zookeeper and --root",
        )
        return Answer(status=409, error=error.to_dict())
