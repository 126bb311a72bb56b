"""Pages on which people act: what an action would do, the form that confirms it, and its result.

/tasks/NAME/actions              the actions, and the commands that do the same
/tasks/NAME/actions/ACTION       GET: the choice, the dry run and the form; POST: the action
/machines/HOST/actions/ACTION    the same for a machine

They work without JavaScript; the script shows the same pages in a dialog.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any, Final
from urllib.parse import quote

import msgspec
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from monitor.access import Access
from monitor.actions import plan
from monitor.actions.catalog import OF_MACHINE, OF_TASK, Action, Rights, find
from monitor.actions.steps import Checked, Steps, Subject
from monitor.documents import NO_STORE, Documents
from monitor.formatting import machine_page, task_page
from monitor.forms import fields, is_of
from monitor.person import UNLOCKED_SECONDS, Person, person_of
from monitor.render import Renderer
from monitor.server_api import Answer
from monitor.view import TaskRow, View
from replicator.errors import ProcessError
from replicator.telemetry.hosts import client_address
from replicator.telemetry.log import get_logger

MOST_FORM: Final = 65_536
"""Bytes: a GTID set may be long."""
_KEPT: Final = 500
_log = get_logger("monitor")
_OWN_FIELDS: Final = frozenset({"csrf", "confirm", "reason", "key", "seen", "version", "mistyped"})


class Outcome(msgspec.Struct, frozen=True):
    """What became of a form that was sent; sent again it is not done again."""

    answer: Answer
    arguments: dict[str, str]
    reason: str


class ActionPages:
    """
    Args:
        visible: what the login of a request may see.
        steps: None: the Monitor has no Server, and the pages have commands only.
    """

    def __init__(
        self,
        visible: Callable[[Request], View],
        rights: Callable[[Request], Rights],
        access: Access | None,
        documents: Documents,
        renderer: Renderer,
        steps: Steps | None,
        root: str,
    ) -> None:
        self._visible = visible
        self._rights = rights
        self._access = access
        self._documents = documents
        self._renderer = renderer
        self._steps = steps
        self._root = root
        self._outcomes: OrderedDict[tuple[str, str], asyncio.Task[Outcome]] = OrderedDict()
        self._sent: OrderedDict[tuple[str, str], None] = OrderedDict()

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/tasks/{name}/actions", self.of_task),
            Route("/tasks/{name}/actions/{action}", self.form, methods=["GET"]),
            Route("/tasks/{name}/actions/{action}", self.send, methods=["POST"]),
            Route("/machines/{name}/actions/{action}", self.form, methods=["GET"]),
            Route("/machines/{name}/actions/{action}", self.send, methods=["POST"]),
        ]

    async def of_task(self, request: Request) -> Response:
        task = self._task(request)
        if task is None:
            return self._absent(request)
        server = self._rights(request).server
        listed = [(action, plan.commands(action, task.name, _example(action, task), "", server)) for action in OF_TASK]
        return self._documents.answer(
            request,
            "task_actions",
            name=task.name,
            back=task_page(task.name),
            listed=listed,
        )

    async def form(self, request: Request) -> Response:
        action = self._action(request)
        if action is None:
            return self._absent(request)
        rights, person = self._rights(request), person_of(request, self._access)
        given = dict(request.query_params)
        choice = plan.chosen(action, given)
        allowed = rights.may_drain if action.of_machine else rights.may_act
        if self._steps is None or person is None or not allowed:
            status = 403 if self._steps is not None else 200
            return self._page(request, action, choice, stage="blocked", person=person, status=status)
        if not person.authorization:
            return self._page(request, action, choice, stage="unlock")
        address = client_address(request.scope)
        subject = await self._steps.read(person, address, action, request.path_params["name"])
        if isinstance(subject, Answer):
            return self._page(request, action, choice, stage="refused", error=subject.error)
        if action.choice == "table" and choice.missing and len(subject.tables) == 1:
            choice = plan.Chosen({"table": subject.tables[0]})
        if choice.missing:
            return self._page(request, action, choice, stage="choose", subject=subject, given=given)
        name = request.path_params["name"]
        checked = await self._steps.check(person, address, action, name, subject, choice.arguments)
        return self._confirm(request, action, choice, subject, checked, given)

    def _confirm(
        self,
        request: Request,
        action: Action,
        choice: plan.Chosen,
        subject: Subject,
        checked: Checked,
        given: dict[str, str],
    ) -> Response:
        """The form, with a new key; or why the action would be refused."""
        return self._page(
            request,
            action,
            msgspec.structs.replace(choice, arguments=checked.arguments),
            stage="choose" if checked.error else "confirm",
            subject=subject,
            lines=checked.lines,
            error=checked.error,
            given=given,
            form={
                **{key: given[key] for key in given if key not in _OWN_FIELDS},
                **({"to": checked.arguments["to"]} if checked.arguments.get("to") else {}),
                **({"table": checked.arguments["table"]} if checked.arguments.get("table") else {}),
                "seen": subject.seen,
                "version": "" if subject.version is None else str(subject.version),
                "key": secrets.token_urlsafe(18),
            },
        )

    async def send(self, request: Request) -> Response:
        action = self._action(request)
        if action is None:
            return self._absent(request)
        rights, person, given = (
            self._rights(request),
            person_of(request, self._access),
            await fields(request, MOST_FORM),
        )
        choice = plan.chosen(action, given or {})
        allowed = rights.may_drain if action.of_machine else rights.may_act
        if self._steps is None or person is None or not allowed:
            return self._page(request, action, choice, stage="blocked", person=person, status=403)
        if given is None or not is_of(person.session, given) or not given.get("key"):
            error = ProcessError("E5020", "the form of the request is not of this session", fix="Load the page again.")
            return self._page(request, action, choice, stage="refused", error=error.to_dict(), status=403)
        if not person.authorization:
            return self._page(request, action, choice, stage="unlock", status=403)
        name, address = request.path_params["name"], client_address(request.scope)
        if given.get("confirm", "").strip() != name.strip():
            return await self._asked_again(request, action, choice, person, given)
        steps, mark = self._steps, (person.session.csrf, given["key"][:200])
        version = given.get("version", "")
        reason = given.get("reason", "").strip()

        async def act() -> Outcome:
            answer = await steps.act(
                person,
                address,
                action,
                name,
                arguments=choice.arguments,
                reason=reason,
                seen=given.get("seen", ""),
                version=int(version) if version.isascii() and version.isdigit() and len(version) < 12 else None,
                key=mark[1],
                again=mark in self._sent,
            )
            result = "unknown" if answer.unknown else answer.error.get("code", "failed") if answer.error else "done"
            by, request_id = person.principal.label, mark[1]
            _log.info(
                "action", action=action.name, name=name, by=by, address=address, result=result, request=request_id
            )
            return Outcome(answer, choice.arguments, reason)

        if choice.missing:
            return self._page(request, action, choice, stage="refused", error=_incomplete(choice), status=422)
        outcome = await self._once(mark, act)
        return self._result(request, action, outcome, given)

    async def _once(self, mark: tuple[str, str], act: Callable[[], Awaitable[Outcome]]) -> Outcome:
        """A form that is sent twice, also at the same time, is sent to the Server once. One whose outcome is not known
        is sent again, with the same key: the Server does it once."""
        running = self._outcomes.get(mark)
        if running is None:
            running = asyncio.ensure_future(_coroutine(act))
            self._outcomes[mark] = running
            while len(self._outcomes) > _KEPT:
                self._outcomes.popitem(last=False)
        outcome = await asyncio.shield(running)  # what was begun is finished, also when the browser goes
        if outcome.answer.unknown:
            self._sent[mark] = None
            self._outcomes.pop(mark, None)
            while len(self._sent) > _KEPT:
                self._sent.popitem(last=False)
        return outcome

    def _result(self, request: Request, action: Action, outcome: Outcome, given: dict[str, str]) -> Response:
        answer = outcome.answer
        choice = plan.Chosen(outcome.arguments)
        if not answer.error:
            return self._page(
                request, action, choice, stage="done", key=given["key"], answer=answer, reason=outcome.reason
            )
        form = {key: text for key, text in given.items() if key != "csrf"} if answer.unknown else {}
        return self._page(
            request,
            action,
            choice,
            stage="refused",
            error=answer.error,
            key=given["key"],
            unknown=answer.unknown,
            form=form,
            reason=outcome.reason,
            status=answer.status or 502,
        )

    async def _asked_again(
        self, request: Request, action: Action, choice: plan.Chosen, person: Person, given: dict[str, str]
    ) -> Response:
        """The name was not the right one: the form once more."""
        assert self._steps is not None  # noqa: S101
        address, name = client_address(request.scope), request.path_params["name"]
        subject = await self._steps.read(person, address, action, name)
        if isinstance(subject, Answer):
            return self._page(request, action, choice, stage="refused", error=subject.error)
        checked = await self._steps.check(person, address, action, name, subject, choice.arguments)
        answer = self._confirm(request, action, choice, subject, checked, {**given, "mistyped": "1"})
        answer.status_code = 422
        return answer

    def _page(
        self,
        request: Request,
        action: Action,
        choice: plan.Chosen,
        *,
        stage: str,
        status: int = 200,
        subject: Subject | None = None,
        person: Person | None = None,
        given: dict[str, str] | None = None,
        reason: str = "",
        **values: Any,
    ) -> Response:
        name = request.path_params["name"]
        here, server = address_of(action, name), self._rights(request).server
        version = subject.version if subject is not None else None
        arguments = choice.arguments or (_placeholder(action) if choice.missing else {})
        defaults: dict[str, Any] = {
            "error": {}, "lines": [], "form": {}, "key": "", "unknown": False, "answer": None,
        }  # fmt: skip
        return self._documents.answer(
            request,
            "action",
            status=status,
            action=action,
            name=name,
            stage=stage,
            back=machine_page(name) if action.of_machine else task_page(name),
            here=here,
            after=f"{here}?{request.url.query}" if request.method == "GET" and request.url.query else here,
            choice=choice,
            given=given or {},
            subject=subject,
            targets=plan.TARGETS,
            role=person.principal.role if person is not None else "",
            command=plan.commands(action, name, arguments, reason, server, version),
            minutes=round(UNLOCKED_SECONDS / 60),
            reason=reason,
            **(defaults | values),
        )

    def _action(self, request: Request) -> Action | None:
        """None: there is no such action, task or machine for this login."""
        of_machine = request.url.path.startswith("/machines/")
        action = find(OF_MACHINE if of_machine else OF_TASK, request.path_params["action"])
        if of_machine:
            hosts = {machine.host for machine in self._visible(request).machines}
            return action if request.path_params["name"] in hosts else None
        return action if self._task(request) is not None else None

    def _task(self, request: Request) -> TaskRow | None:
        name = request.path_params["name"]
        return next((task for task in self._visible(request).tasks if task.name == name), None)

    def _absent(self, request: Request) -> Response:
        known = bool(self._visible(request).read_ms)
        text = self._renderer.no_task(self._root, request.path_params["name"], known=known)
        return HTMLResponse(text, 404 if known else 503, headers=NO_STORE)


def address_of(action: Action, name: str) -> str:
    """Of the page of an action."""
    of = f"/machines/{quote(name, safe='')}" if action.of_machine else task_page(name)
    return f"{of}/actions/{action.name}"


async def _coroutine(act: Callable[[], Awaitable[Outcome]]) -> Outcome:
    return await act()


def _incomplete(choice: plan.Chosen) -> dict[str, str]:
    return ProcessError("E5133", "the form is not complete", wanted=choice.missing).to_dict()


def _placeholder(action: Action) -> dict[str, str]:
    """For the command to copy, before anything is chosen."""
    return {"table": {"table": "DATABASE.TABLE"}, "position": {"at": "TIME"}}.get(action.choice, {})


def _example(action: Action, task: TaskRow) -> dict[str, str]:
    if action.choice == "table" and task.quarantined:
        return {"table": task.quarantined[0].partition(" ")[0]}
    return _placeholder(action)
