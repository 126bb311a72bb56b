"""The two steps of an action at the Server, for a person: the check beforehand, and the action. Of the event loop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from monitor.actions import plan, preview
from monitor.actions.catalog import Action
from monitor.commands import segment
from monitor.person import Person
from monitor.person_api import PersonApi
from monitor.server_api import Answer
from replicator.errors import ProcessError, VersionConflict


class Subject(msgspec.Struct, frozen=True):
    """A task or a machine as the Server shows it. seen: the facts that a decision is based on; tables: in quarantine;
    hosts: of standbys; version: of the configuration, None for a machine."""

    seen: str
    fields: dict[str, Any]
    tables: list[str] = []
    hosts: list[str] = []
    version: int | None = None


class Checked(msgspec.Struct, frozen=True):
    """`lines`: what an action would do. error: why it would be refused; {} if it would not. arguments: with what the
    Server has chosen, such as the standby."""

    arguments: dict[str, str] = {}
    lines: list[preview.Line] = []
    error: dict[str, str] = {}


class Steps:
    def __init__(self, api: PersonApi) -> None:
        self._api = api

    @property
    def server(self) -> str:
        return self._api.server

    async def read(self, person: Person, address: str, action: Action, name: str) -> Subject | Answer:
        """An Answer: why it can't be read."""
        if action.of_machine:
            return await self._machine(person, address, name)
        answer = await self._api.ask(person, address, "GET", f"/tasks/{segment(name)}")
        if answer.error:
            return answer
        task = answer.content
        version = task.get("version")
        return Subject(
            plan.seen_of_task(task),
            task,
            plan.quarantined(task),
            [str(host) for host in task.get("standbys", [])],
            version if isinstance(version, int) and version >= 0 else None,
        )

    async def _machine(self, person: Person, address: str, name: str) -> Subject | Answer:
        answer = await self._api.ask(person, address, "GET", "/machines")
        if answer.error:
            return answer
        # One that is offline may be drained, or its drain be ended: the Server knows it.
        found: dict[str, Any] = next((one for one in answer.content.get("items", []) if one.get("name") == name), {})
        return Subject(plan.seen_of_machine(found), found)

    async def check(
        self, person: Person, address: str, action: Action, name: str, subject: Subject, arguments: Mapping[str, str]
    ) -> Checked:
        """Changes nothing. What the API can check it does, with the rights of the person."""
        if action.of_machine:
            return Checked(dict(arguments), preview.of_machine(action, subject.fields))
        answer = Answer(status=200)
        if action.checked:
            body = plan.body_of(action, arguments, "")
            answer = await self._api.ask(
                person, address, "POST", plan.path_of(action, name), body=body, params={"dry_run": "true"}
            )
        if answer.error:
            return Checked(dict(arguments), error=answer.error)
        pinned = dict(arguments)
        if action.choice == "to" and answer.content.get("to"):
            pinned["to"] = str(answer.content["to"])
        lines = preview.of_task(action, subject.fields, answer.content)
        return Checked(pinned, lines, _refused(action, name, subject.fields))

    async def act(
        self,
        person: Person,
        address: str,
        action: Action,
        name: str,
        *,
        arguments: Mapping[str, str],
        reason: str,
        seen: str,
        version: int | None,
        key: str,
        again: bool,
    ) -> Answer:
        """
        Args:
            seen: what the person saw of the task: where that has changed, nothing is done (412).
            key: with which the Server does it once only; again: it was sent with this key before, so that the Server
                knows what became of it.
        """
        if not again:
            subject = await self.read(person, address, action, name)
            if isinstance(subject, Answer):
                return subject
            if subject.seen != seen:
                return _stale(name, subject.seen, seen)
        body = plan.body_of(action, arguments, reason)
        path = plan.path_of(action, name)
        return await self._api.ask(person, address, "POST", path, body=body, version=version, key=key)


def _refused(action: Action, name: str, task: Mapping[str, Any]) -> dict[str, str]:
    """A dry run shows what a position would mean also while the task runs, which is when it can't be set."""
    state = str(task.get("state", ""))
    if action.choice != "position" or state in plan.STILL:
        return {}
    return ProcessError(
        "E5007",
        f"the position of '{name}' can't be set while it runs",
        found=state,
        wanted="paused, failed, or without a Core",
        fix="Pause the task first.",
    ).to_dict()


def _stale(name: str, found: str, wanted: str) -> Answer:
    error = VersionConflict(
        "E4006",
        f"'{name}' has changed since the page was shown; nothing was done",
        found=found,
        wanted=wanted,
        fix="Check what has changed, and start again if the action is still wanted.",
    )
    return Answer(status=412, error=error.to_dict())
