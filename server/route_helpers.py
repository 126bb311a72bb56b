"""Helpers of all routes: typed responses, their OpenAPI schemas, names in paths, the user of a request."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, TypeVar

import msgspec
from fastapi import Depends, Header, Path, Query, Request
from starlette.responses import Response

from replicator.alerts.silence_store import Silences
from replicator.config.labels import EVERYTHING, MAX_SELECTOR, Selector, parse_selector
from replicator.config.load import load_task
from replicator.config.task import TaskConfig
from replicator.coordination.access.audit import AuditLog
from replicator.coordination.layout import unescape
from replicator.errors import ConfigError
from replicator.model.principal import Principal
from replicator.model.verification import VerificationReport
from server import (
    access_responses,
    check_responses,
    cutover_responses,
    group_responses,
    machine_responses,
    outgoing_responses,
    responses,
    silence_responses,
)
from server.addresses import Address, AddressList, AddressOperations
from server.checks import CheckOperations
from server.cutovers import CutoverOperations
from server.group_operations import GroupOperations
from server.login_operations import LoginOperations
from server.machine_operations import MachineOperations
from server.outgoing import OutgoingOperations
from server.positions import Positions
from server.process_logs import ProcessLogs
from server.request_bodies import decoded
from server.request_facts import author_of, facts_of
from server.sealing import Sealing
from server.source_operations import Source, SourceList, SourceOperations
from server.table_definitions import DefinitionOperations, Schema
from server.task_operations import TaskOperations
from server.versions import VersionOperations

ANSWERS = (
    responses.Task,
    responses.TaskList,
    responses.HistoryList,
    check_responses.CheckResult,
    machine_responses.MachineList,
    machine_responses.Machine,
    responses.ProcessList,
    responses.ProcessLog,
    responses.Accepted,
    responses.Health,
    responses.Cluster,
    outgoing_responses.Outgoing,
    responses.SecretList,
    responses.Renewed,
    responses.PositionHistory,
    responses.PositionChanged,
    responses.Skipped,
    responses.Maintained,
    responses.EditLock,
    responses.VersionList,
    responses.TaskVersion,
    responses.VersionDiff,
    Schema,
    VerificationReport,
    responses.Failure,
    group_responses.Group,
    group_responses.GroupList,
    group_responses.Moves,
    group_responses.Drain,
    Source,
    SourceList,
    cutover_responses.Cutover,
    cutover_responses.CutoverList,
    Address,
    AddressList,
    silence_responses.Silence,
    silence_responses.SilenceList,
    access_responses.TokenList,
    access_responses.TokenCreated,
    access_responses.User,
    access_responses.UserList,
    access_responses.Login,
    access_responses.Audit,
)
MOST_AGE: Final = 10.0
"""Seconds. Figures that are older count as old."""
_MAX_AGE: Final = re.compile(r"(?:^|[\s,])max-age=([0-9]{1,6})(?![0-9])", re.IGNORECASE)
_REF = "#/components/schemas/{name}"
T = TypeVar("T")


def reply(view: msgspec.Struct, status: int = 200) -> Response:
    headers = {"cache-control": "no-store"}
    versioned = responses.Task | outgoing_responses.Outgoing | access_responses.User | Address
    if isinstance(view, versioned) and view.version >= 0:
        headers["etag"] = f'"{view.version}"'
    if isinstance(view, machine_responses.Machine) and view.expected_version >= 0:
        headers["etag"] = f'"{view.expected_version}"'
    # What is below is encoded as it is: a list of 1,000 tasks as plain dicts took most of the time of its answer.
    found = {field.encode_name: getattr(view, field.name) for field in msgspec.structs.fields(view)}
    first = {key: found[key] for key in ("apiVersion", "kind", "name") if key in found}  # shown first to people
    return Response(msgspec.json.encode(first | found), status, headers, "application/json")


def documented(view: type[msgspec.Struct], status: int = 200, description: str = "") -> dict[int | str, dict[str, Any]]:
    """The `responses` of a route."""
    schema = {"$ref": _REF.format(name=view.__name__)}
    return {status: {"description": description or "done", "content": {"application/json": {"schema": schema}}}}


def schemas() -> dict[str, Any]:
    """For the document's components."""
    _, found = msgspec.json.schema_components(ANSWERS, ref_template=_REF)
    return found


def _of_app(name: str, kind: type[T]) -> Callable[[Request], T]:
    """A dependency: what `server.app` has put into the application's state under this name."""

    def found(request: Request) -> T:
        part = getattr(request.app.state, name)
        assert isinstance(part, kind)  # noqa: S101
        return part

    return found


def _name(name: Annotated[str, Path(description="the task's name as its znode carries it: escaped with %XX")]) -> str:
    return unescape(name)


def _by(
    request: Request,
    x_replicator_user: Annotated[
        str, Header(description="name of the user, quoted in the history; not verified", max_length=100)
    ] = "",
) -> str:
    """The verified login comes first, and where it was used. The header is read by the layer that verifies it."""
    return author_of(request.scope)


def _login(request: Request) -> Principal:
    return facts_of(request.scope).known


def _version(
    if_match: Annotated[str | None, Header(description="version that this change replaces")] = None,
    version: int | None = None,
) -> int | None:
    """From the header or the query; None: whatever is there."""
    if if_match is None or if_match.strip() == "*":
        return version
    text = if_match.strip().removeprefix("W/").strip('"')
    if not (text.isascii() and text.isdigit() and len(text) < 12):
        raise ConfigError("E1003", "If-Match is not a version", found=repr(if_match[:40]), wanted='a number, as in "3"')
    return int(text)


def _max_age(
    cache_control: Annotated[
        str | None, Header(description="`max-age=SECONDS`: how old the answer may be; without it, it is current")
    ] = None,
) -> float:
    """Seconds. Anything else in the header has no meaning here."""
    found = _MAX_AGE.search(cache_control or "")
    return min(float(found[1]), MOST_AGE) if found else 0.0


def _selector(
    selector: Annotated[
        str | None,
        Query(description="only tasks with these labels, such as env=prod,team!=shop", max_length=MAX_SELECTOR),
    ] = None,
) -> Selector:
    return EVERYTHING if selector is None else parse_selector(selector)


async def _config(request: Request) -> TaskConfig:
    return load_task(await request.body())


async def _arguments(request: Request) -> dict[str, str]:
    """An optional JSON object of strings. Raises ConfigError E1001, E1003."""
    body = await request.body()
    if not body.strip():
        return {}
    found = decoded(body, dict[str, str], "an object of strings", wrong="an invalid value")
    note_arguments(request, found)
    return found


def note_arguments(request: Request, arguments: Mapping[str, Any]) -> None:
    """Of a command, for the audit, without what is secret in them."""
    facts = facts_of(request.scope)
    facts.reason = str(arguments.get("reason") or "")[:200] or facts.reason
    left_out = {"reason", *SECRETS}
    facts.arguments = {key: str(value) for key, value in arguments.items() if key not in left_out and value is not None}


SECRETS: Final = frozenset({"secret", "password", "token"})
"""Names of arguments that are never recorded."""


Reason = Annotated[str, Query(description="recorded in the history of the task", max_length=200)]
OperationsOf = Annotated[TaskOperations, Depends(_of_app("operations", TaskOperations))]
MachinesOf = Annotated[MachineOperations, Depends(_of_app("machines", MachineOperations))]
GroupsOf = Annotated[GroupOperations, Depends(_of_app("groups", GroupOperations))]
CutoversOf = Annotated[CutoverOperations, Depends(_of_app("cutovers", CutoverOperations))]
SourcesOf = Annotated[SourceOperations, Depends(_of_app("sources", SourceOperations))]
SealingOf = Annotated[Sealing, Depends(_of_app("sealing", Sealing))]
SilencesOf = Annotated[Silences, Depends(_of_app("silences", Silences))]
OutgoingOf = Annotated[OutgoingOperations, Depends(_of_app("outgoing", OutgoingOperations))]
PositionsOf = Annotated[Positions, Depends(_of_app("positions", Positions))]
ProcessLogsOf = Annotated[ProcessLogs, Depends(_of_app("process_logs", ProcessLogs))]
DefinitionsOf = Annotated[DefinitionOperations, Depends(_of_app("table_definitions", DefinitionOperations))]
ChecksOf = Annotated[CheckOperations, Depends(_of_app("checks", CheckOperations))]
VersionsOf = Annotated[VersionOperations, Depends(_of_app("versions", VersionOperations))]
Name = Annotated[str, Depends(_name)]
By = Annotated[str, Depends(_by)]
LoginOf = Annotated[Principal, Depends(_login)]
LoginsOf = Annotated[LoginOperations, Depends(_of_app("logins", LoginOperations))]
AddressesOf = Annotated[AddressOperations, Depends(_of_app("addresses", AddressOperations))]
AuditOf = Annotated[AuditLog, Depends(_of_app("audit", AuditLog))]
Version = Annotated[int | None, Depends(_version)]
MaxAge = Annotated[float, Depends(_max_age)]
SelectorOf = Annotated[Selector, Depends(_selector)]
Config = Annotated[TaskConfig, Depends(_config)]
Arguments = Annotated[dict[str, str], Depends(_arguments)]


def only(arguments: dict[str, str], *known: str) -> dict[str, str]:
    """The arguments, none of them unknown. Raises ConfigError E1002."""
    for key in arguments:
        if key not in known:
            raise ConfigError(
                "E1002", f"{key!r} is not a known parameter"[:80], wanted=f"one of {', '.join(known) or 'nothing'}"
            )
    return arguments


def body_of(
    schema: dict[str, Any], *, required: bool, media: tuple[str, ...] = ("application/json",)
) -> dict[str, Any]:
    """`openapi_extra` of a route that reads its body itself."""
    return {"requestBody": {"required": required, "content": {kind: {"schema": schema} for kind in media}}}
