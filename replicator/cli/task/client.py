"""Client of the Server's HTTP API for the commands: plain data in and out, every failure a ReplicatorError."""

from __future__ import annotations

import contextlib
import difflib
import getpass
import os
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import click
import httpx

from replicator.cli import contexts
from replicator.cli.task import client_tls
from replicator.cli.terminal import clean
from replicator.codes import CODES
from replicator.config.token import default_token_file, read_token
from replicator.coordination.layout import escape
from replicator.errors import ConfigError, CoordinationError, ProcessError, ReplicatorError
from replicator.host.network import is_loopback

TIMEOUT = 30.0
INSECURE = "REPLICATOR_INSECURE_HTTP"


def find_token(token_file: Path | None, server: str) -> str:
    """The flag, then REPLICATOR_TOKEN, then REPLICATOR_TOKEN_FILE, then the file of the context whose Server this is,
    then the file that a Server of this user made. "" where a client certificate is the login.

    Raises ConfigError E1006 (a named file can't be used), ProcessError E5006 (no token anywhere).
    """
    if token_file is None and os.environ.get("REPLICATOR_TOKEN"):
        return os.environ["REPLICATOR_TOKEN"].strip()
    named = token_file or (Path(text) if (text := os.environ.get("REPLICATOR_TOKEN_FILE")) else None)
    named = named or contexts.token_file(server)
    if named is None and contexts.tls_files(server).client_certificate:
        return ""
    if named is None and not default_token_file().exists():
        raise ProcessError("E5006", "there is no token for the Server", found=f"no file {default_token_file()}")
    return read_token(named or default_token_file())


class Client:
    def __init__(self, server: str, token: str, timeout: float = TIMEOUT) -> None:
        self.server = server.rstrip("/")
        self._warned = False
        _check_way(self.server)
        try:
            # no proxies from the environment: a control API is an inner address
            self._http = httpx.Client(
                base_url=f"{self.server}/api/v1",
                headers={"x-replicator-user": _user()} | ({"authorization": f"Bearer {token}"} if token else {}),
                timeout=timeout,
                trust_env=False,
                # loading the authorities of the system takes longer than most answers
                verify=client_tls.context(self.server) if self.server.startswith("https:") else False,
            )
        except (httpx.InvalidURL, UnicodeError, ValueError) as error:
            raise ProcessError("E5005", f"{server!r} is not the address of a Server", found=str(error)) from None

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def tasks(self, max_age: int = 0) -> dict[str, Any]:
        """`max_age`: seconds that the answer may be old, so that a repeated request costs ZooKeeper nothing; 0: it has
        everything that was acknowledged before."""
        return self._ask("GET", "/tasks", headers=_aged(max_age))

    def secrets(self, name: str) -> dict[str, Any]:
        return self._of(name, "GET", "/secrets")

    def set_secret(self, name: str, field: str, secret: str, reason: str) -> dict[str, Any]:
        given = {"field": field, "secret": secret, "reason": reason}
        return self._of(name, "POST", "/secrets", json={key: value for key, value in given.items() if value})

    def renew_secrets(self, name: str) -> dict[str, Any]:
        return self._of(name, "POST", "/secrets/renew", json={})

    def cluster(self) -> dict[str, Any]:
        return self._ask("GET", "/cluster")

    def outgoing(self) -> dict[str, Any]:
        return self._ask("GET", "/cluster/outgoing")

    def set_outgoing(self, entries: Sequence[str], version: int, reason: str, *, dry_run: bool) -> dict[str, Any]:
        """version: that is replaced, -1 for a list that was never written."""
        headers = {"if-match": f'"{version}"'} if version >= 0 else {}
        params = _flag(dry_run) | _because(reason)
        return self._ask("PUT", "/cluster/outgoing", json={"entries": list(entries)}, headers=headers, params=params)

    def remove_outgoing(self, version: int, reason: str) -> None:
        self._ask("DELETE", "/cluster/outgoing", headers={"if-match": f'"{version}"'}, params=_because(reason))

    def silences(self) -> dict[str, Any]:
        return self._ask("GET", "/alerts/silences")

    def silence(self, wanted: dict[str, Any]) -> dict[str, Any]:
        return self._ask("POST", "/alerts/silences", json=wanted)

    def unsilence(self, id_: str, reason: str) -> None:
        self._ask("DELETE", f"/alerts/silences/{_segment(id_)}", params=_because(reason))

    def alerts(self) -> dict[str, Any]:
        """Of a Monitor, at whose address this client is."""
        return self._ask("GET", f"{self.server}/api/alerts")

    def task(self, name: str, max_age: int = 0) -> dict[str, Any]:
        return self._of(name, "GET", headers=_aged(max_age))

    def find(self, name: str) -> dict[str, Any] | None:
        """None for a task that is not there."""
        try:
            return self._ask("GET", _path(name))
        except ReplicatorError as error:
            if error.code == "E5003":
                return None
            raise

    def create(self, text: bytes, dry_run: bool, reason: str = "") -> dict[str, Any]:
        return self._ask("POST", "/tasks", content=text, params=_flag(dry_run) | _because(reason))

    def begin_edit(self, name: str, *, force: bool = False) -> dict[str, Any]:
        """Takes the lock to edit the task, or confirms it; to be repeated within `lease_s`."""
        return self._of(name, "PUT", "/edit", json=_process() | ({"force": "true"} if force else {}))

    def end_edit(self, name: str) -> None:
        self._of(name, "DELETE", "/edit", json=_process())

    def edit_lock(self, name: str) -> dict[str, Any]:
        return self._of(name, "GET", "/edit")

    def replace(
        self, name: str, text: bytes, version: int, dry_run: bool, reason: str = "", edit_token: int = 0
    ) -> dict[str, Any]:
        """edit_token: write only under this lock; 0: none is required."""
        params = _flag(dry_run) | _because(reason) | ({"edit_token": str(edit_token)} if edit_token else {})
        return self._of(name, "PUT", content=text, headers=_if_match(version), params=params)

    def delete(
        self, name: str, wait: float, reason: str = "", *, purge: bool = False, version: int | None = None
    ) -> bool:
        """True when the task is gone. `version`: of the configuration that was shown, None for any."""
        params = {"wait": str(wait)} | ({"purge": "true"} if purge else {}) | _because(reason)
        return not self._of(name, "DELETE", params=params, headers=_if_match(version))

    def act(self, task: str, verb: str, *, dry_run: bool = False, **arguments: str) -> dict[str, Any]:
        given = {key: value for key, value in arguments.items() if value}
        return self._of(task, "POST", f"/{verb}", json=given, params=_flag(dry_run))

    def start_snapshot(
        self, name: str, tables: list[str], where: str | None, chunk_rows: int | None, reason: str
    ) -> dict[str, Any]:
        wanted = {"tables": tables, "where": where, "chunk_rows": chunk_rows, "reason": reason or None}
        given = {key: value for key, value in wanted.items() if value is not None}
        return self._of(name, "POST", "/snapshot", json=given)

    def sources(self) -> dict[str, Any]:
        return self._ask("GET", "/sources")

    def source(self, address: str) -> dict[str, Any]:
        return self._ask("GET", f"/sources/{_segment(address)}")

    def lock_source(self, address: str, reason: str, seconds: int) -> dict[str, Any]:
        given = {"reason": reason[:200], "for_s": str(seconds)}
        return self._ask("PUT", f"/sources/{_segment(address)}/lock", json=given)

    def unlock_source(self, address: str) -> None:
        self._ask("DELETE", f"/sources/{_segment(address)}/lock")

    def begin_cutover(self, wanted: dict[str, Any], *, dry_run: bool) -> dict[str, Any]:
        return self._ask("POST", "/cutovers", json=wanted, params=_flag(dry_run))

    def cutovers(self) -> dict[str, Any]:
        return self._ask("GET", "/cutovers")

    def cutover(self, id_: str) -> dict[str, Any]:
        return self._ask("GET", f"/cutovers/{quote(id_, safe='')}")

    def cancel_cutover(self, id_: str) -> dict[str, Any]:
        return self._ask("DELETE", f"/cutovers/{quote(id_, safe='')}")

    def machines(self, max_age: int = 0) -> dict[str, Any]:
        return self._ask("GET", "/machines", headers=_aged(max_age))

    def machine(self, name: str) -> dict[str, Any]:
        return self._ask("GET", f"/machines/{_segment(name)}")

    def expect_machine(self, name: str, reason: str, version: int | None) -> dict[str, Any]:
        path = f"/machines/{_segment(name)}/expectation"
        return self._ask("PUT", path, json={"reason": reason}, headers=_if_match(version))

    def unexpect_machine(self, name: str, version: int | None) -> None:
        self._ask("DELETE", f"/machines/{_segment(name)}/expectation", headers=_if_match(version))

    def groups(self) -> dict[str, Any]:
        return self._ask("GET", "/groups")

    def group(self, name: str) -> dict[str, Any]:
        return self._ask("GET", f"/groups/{_segment(name)}")

    def rebalance(self, group: str, reason: str, *, dry_run: bool) -> dict[str, Any]:
        return self._ask("POST", f"/groups/{_segment(group)}/rebalance", json={"reason": reason}, params=_flag(dry_run))

    def drain(self, host: str, reason: str, *, on: bool) -> dict[str, Any]:
        verb = "drain" if on else "undrain"
        return self._ask("POST", f"/machines/{_segment(host)}/{verb}", json={"reason": reason})

    def processes(self) -> dict[str, Any]:
        return self._ask("GET", "/processes")

    def process_log(self, process: str) -> dict[str, Any]:
        return self._ask("GET", f"/processes/{_segment(process)}/log")

    def addresses(self) -> dict[str, Any]:
        return self._ask("GET", "/addresses")

    def address(self, name: str) -> dict[str, Any]:
        return self._ask("GET", _address_path(name))

    def set_address(
        self, name: str, address: str, role: str | None, reason: str, version: int | None
    ) -> dict[str, Any]:
        wanted = {"address": address, "role": role, "reason": reason}
        given = {key: value for key, value in wanted.items() if value}
        return self._ask("PUT", _address_path(name), json=given, headers=_if_match(version))

    def delete_address(self, name: str, version: int | None) -> None:
        self._ask("DELETE", _address_path(name), headers=_if_match(version))

    def versions(self, name: str) -> dict[str, Any]:
        return self._of(name, "GET", "/versions")

    def compare(self, name: str, before: int | None, after: int | None) -> dict[str, Any]:
        given = {"from": before, "to": after}
        params = {key: str(number) for key, number in given.items() if number is not None}
        return self._of(name, "GET", "/diff", params=params)

    def rollback(self, name: str, to: int, dry_run: bool, reason: str) -> dict[str, Any]:
        return self.act(name, "rollback", dry_run=dry_run, to=str(to), reason=reason)

    def last_check(self, name: str) -> dict[str, Any]:
        return self._of(name, "GET", "/check")

    def report_verification(self, name: str, report: dict[str, Any]) -> dict[str, Any]:
        return self._of(name, "PUT", "/verification", json=report)

    def maintain_all(self, on: bool, reason: str) -> dict[str, Any]:
        return self._ask("POST", "/maintenance", json={"on": "true" if on else "false", "reason": reason})

    def positions(self, name: str) -> dict[str, Any]:
        return self._of(name, "GET", "/positions")

    def set_position(self, name: str, target: dict[str, str], dry_run: bool) -> dict[str, Any]:
        return self.act(name, "position", dry_run=dry_run, **target)

    def schema(self, name: str) -> dict[str, Any]:
        return self._of(name, "GET", "/schema")

    def define_table(self, name: str, statement: str, reason: str) -> dict[str, Any]:
        return self.act(name, "schema", statement=statement, reason=reason)

    def history(self, name: str, limit: int) -> dict[str, Any]:
        return self._of(name, "GET", "/history", params={"limit": str(limit)})

    def login(self) -> dict[str, Any]:
        return self._ask("GET", "/login")

    def tokens(self) -> dict[str, Any]:
        return self._ask("GET", "/tokens")

    def create_token(self, name: str, role: str, selector: str, expires_s: int) -> dict[str, Any]:
        wanted = {"name": name, "role": role, "selector": selector, "expires_s": expires_s}
        return self._ask("POST", "/tokens", json=wanted)

    def revoke_token(self, name: str) -> None:
        self._ask("DELETE", f"/tokens/{_segment(name)}")

    def users(self) -> dict[str, Any]:
        return self._ask("GET", "/users")

    def create_user(self, name: str, password: str, role: str, selector: str) -> dict[str, Any]:
        wanted = {"name": name, "password": password, "role": role, "selector": selector}
        return self._ask("POST", "/users", json=wanted)

    def set_password(self, name: str, password: str) -> dict[str, Any]:
        return self._ask("PUT", f"/users/{_segment(name)}/password", json={"password": password})

    def set_role(self, name: str, role: str, selector: str) -> dict[str, Any]:
        return self._ask("PUT", f"/users/{_segment(name)}/role", json={"role": role, "selector": selector})

    def remove_user(self, name: str, version: int | None = None) -> None:
        self._ask("DELETE", f"/users/{_segment(name)}", headers=_if_match(version))

    def audit(self, **wanted: str) -> dict[str, Any]:
        return self._ask("GET", "/audit", params={key: value for key, value in wanted.items() if value})

    def _of(self, name: str, method: str, below: str = "", **options: Any) -> dict[str, Any]:
        try:
            return self._ask(method, f"{_path(name)}{below}", **options)
        except ReplicatorError as error:
            if error.code != "E5003":
                raise
            raise ProcessError("E5003", f"there is no task '{name}'", fix=self._suggestion(name)) from None

    def _suggestion(self, name: str) -> str:
        with contextlib.suppress(ReplicatorError):
            names = [item["name"] for item in self.tasks()["items"]]
            near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
            if near:
                return f"Did you mean '{near[0]}'?"
        return ""

    def _ask(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        """{} for an answer without content. Raises what the Server says, or ProcessError E5005."""
        try:
            answer = self._http.request(method, path, **options)
        except httpx.TimeoutException:
            raise ProcessError("E5005", f"the Server at {self.server} did not answer in time") from None
        except httpx.UnsupportedProtocol:
            raise ProcessError(
                "E5005", f"{self.server!r} is not the address of a Server", wanted="http://HOST:PORT"
            ) from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._unreachable(error) from None
        self._warn(answer.headers.get("x-replicator-warning", ""))
        if answer.status_code == 204:
            return {}
        try:
            content = answer.json()
        except ValueError:
            content = None
        if not isinstance(content, dict) or not ("apiVersion" in content or "error" in content):
            found = f"HTTP {answer.status_code} without the JSON of a Server"
            raise ProcessError("E5005", f"the process that answers at {self.server} is not a Server", found=found)
        if "error" in content:
            raise _error(content)
        return content

    def _warn(self, text: str) -> None:
        """Once for each command."""
        if text and not self._warned:
            self._warned = True
            click.echo(f"warning: the Server is {clean(text)}", err=True)

    def _unreachable(self, error: Exception) -> ProcessError:
        about_tls = client_tls.explained(self.server, error)
        if about_tls is not None:
            return about_tls
        what = f"the Server at {self.server} can't be reached"
        cut = isinstance(error, httpx.ProtocolError | httpx.ReadError)
        if cut and _speaks_tls(self.server):
            return client_tls.https_wanted(self.server)
        found, fix = str(error) or "it closed the connection", ""
        if cut and self.server.startswith("https:"):
            fix = "If it requires a certificate of clients, give --client-certificate and --client-key."
        return ProcessError("E5005", what, found=found, fix=fix)


def _speaks_tls(server: str) -> bool:
    parts = urlsplit(server)
    return parts.scheme == "http" and client_tls.speaks_tls(parts.hostname or "", parts.port or 80)


def _check_way(server: str) -> None:
    """The token is not sent over the network as it is, unless the user says so."""
    try:
        parts = urlsplit(server)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return  # no address: said where it is used
    closed = parts.scheme != "http" or not host or is_loopback(host)
    if not closed and os.environ.get(INSECURE) not in ("1", "true"):
        raise ProcessError(
            "E5021",
            f"the token would be sent to {server} unencrypted",
            wanted="https://, or a Server on this machine",
            fix=f"Start the Server with --tls-certificate, or allow it: export {INSECURE}=1",
        )


def _path(name: str) -> str:
    """The name is escaped as its znode's is, and once more for the URL: always one segment."""
    return f"/tasks/{_segment(name)}"


def _segment(name: str) -> str:
    return quote(escape(name), safe="")


def _address_path(name: str) -> str:
    """Raises ConfigError E4100."""
    from replicator.config.ddns import parse_name  # here: only commands of addresses need it

    return f"/addresses/{parse_name(name)}"


def _aged(max_age: int) -> dict[str, str]:
    return {"cache-control": f"max-age={max_age}"} if max_age else {}


def _flag(dry_run: bool) -> dict[str, str]:
    return {"dry_run": "true"} if dry_run else {}


def _if_match(version: int | None) -> dict[str, str]:
    return {} if version is None else {"if-match": f'"{version}"'}


def _because(reason: str) -> dict[str, str]:
    return {"reason": reason[:200]} if reason else {}  # as the Server shortens those of bodies


def _user() -> str:
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = str(os.getuid())
    return f"{name}@{socket.gethostname()}".encode("ascii", "replace").decode()[:100]


def _process() -> dict[str, str]:
    return {"host": socket.gethostname()[:100], "pid": str(os.getpid())}


def _error(content: dict[str, Any]) -> ReplicatorError:
    """The Server's error as our own, so that it is shown and counted like any other."""
    from replicator.config.load import TaskConfigError  # here: pydantic would double the start of every command

    listed = content.get("errors")
    errors = [_one(fields) for fields in listed] if isinstance(listed, list) and len(listed) > 1 else []
    if errors and all(isinstance(error, ConfigError) for error in errors):
        return TaskConfigError.of([error for error in errors if isinstance(error, ConfigError)])
    return _one(content["error"])


def _one(fields: Any) -> ReplicatorError:
    values = {key: str(value) for key, value in fields.items()} if isinstance(fields, dict) else {}
    code, what = values.pop("code", ""), values.pop("what", "")
    known = {key: values[key] for key in ("found", "wanted", "fix", "position", "table") if key in values}
    if code not in CODES:
        known["fix"] = known.get("fix") or "Use the version of mysql-replicator that the Server has: it is newer."
        return ProcessError("E5011", f"{code}: {what}", **known)
    kind = {"1": ConfigError, "4": CoordinationError}.get(code[1], ProcessError)
    return kind(code, what, **known)
