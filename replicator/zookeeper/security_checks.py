"""Checks of `replicator check --security`: nodes that are open, listeners without TLS, secret files that others can
read, versions of ZooKeeper with known weaknesses."""

from __future__ import annotations

import re
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from replicator.config.token import default_token_file
from replicator.coordination.layout import Layout
from replicator.coordination.logs import processes
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import MonitorRecord, ServerRecord
from replicator.coordination.rights import Guard
from replicator.coordination.secured_tree import SecuredTree
from replicator.errors import ConfigError, CoordinationError
from replicator.host import access as host_access
from replicator.host.addresses import HostPort, parse_ensemble
from replicator.host.network import is_loopback
from replicator.model.finding import Finding, Severity
from replicator.zookeeper.access import Access, is_secured, of_environment
from replicator.zookeeper.client import connect

_MOST: Final = 50
"""Nodes that are named; the others are counted."""
_FILES: Final = 10_000
_Release = tuple[int, int, int]
WEAKNESSES: Final[tuple[tuple[str, _Release, tuple[_Release, ...]], ...]] = (
    ("CVE-2023-44981", (0, 0, 0), ((3, 7, 2), (3, 8, 3), (3, 9, 1))),
    ("CVE-2024-23944", (3, 6, 0), ((3, 8, 4), (3, 9, 2))),
    ("CVE-2024-51504", (3, 9, 0), ((3, 9, 3),)),
    ("CVE-2026-24281", (0, 0, 0), ((3, 8, 6), (3, 9, 5))),
)
"""With the first release that has it, and the first one of each series without it."""


def check(hosts: str, root: str, session_timeout: float, connect_timeout: float = 5.0) -> list[Finding]:
    """Only reads. Never raises for what it finds."""
    findings = list(secret_files())
    try:
        login = of_environment()
    except ConfigError as error:
        return [*findings, Finding.of_error("zookeeper.login", error)]
    findings += [_protection(hosts, login), *versions(hosts, login)]
    guard = Guard(Layout(root), "admin")
    try:
        coordinator = connect(hosts, session_timeout, connect_timeout, login, guard)
    except CoordinationError as error:
        return [*findings, Finding.of_error("zookeeper.reachable", error)]
    try:
        return [*findings, *rights(coordinator, guard), *listeners(coordinator, guard.layout)]
    except CoordinationError as error:
        return [*findings, Finding.of_error("zookeeper.reachable", error)]
    finally:
        coordinator.close()


def _protection(hosts: str, login: Access) -> Finding:
    found = f"{'TLS' if login.tls else 'no TLS'}, {'a login' if login.has_identity else 'no login'}"
    if login.tls and login.has_identity:
        return Finding.ok("zookeeper.connection", found)
    fix = "Set `login` and `ca` in the file of --zookeeper-config, for each process: see `replicator docs security`."
    severity: Severity = "warn" if is_secured(hosts, login) else "fail"
    return Finding("zookeeper.connection", severity, found, "TLS and a login", fix)


def rights(coordinator: Coordinator, guard: Guard) -> Iterator[Finding]:
    """One for each node, up to a limit."""
    tree = SecuredTree(coordinator, guard)
    record, _ = tree.read()
    secure = "Run `replicator cluster secure`."
    if record is None:
        found, wanted = f"no identities at {guard.layout.security}: every node is open", "an identity for each process"
        yield Finding("zookeeper.identities", "fail", found, wanted, secure)
    count = 0
    for path, acl in tree.deviating(record):
        count += 1
        if count > _MOST:
            continue
        if acl is None:
            yield Finding("zookeeper.rights", "warn", f"{path}: this login may not see its ACL", "", secure)
            continue
        is_open = any(one.scheme == "world" for one in acl.grants)
        shown = ", ".join(map(str, acl.grants))[:200]
        found = f"{path}: {'open' if is_open else 'another ACL than it should have'} ({shown})"
        yield Finding("zookeeper.rights", "fail" if is_open else "warn", found, "the ACL of its kind", secure)
    if count > _MOST:
        yield Finding("zookeeper.rights", "fail", f"{count - _MOST} more nodes", "the ACL of their kind", secure)
    if not count:
        yield Finding.ok("zookeeper.rights", "each node has the ACL of its kind")


def listeners(coordinator: Coordinator, layout: Layout) -> Iterator[Finding]:
    """Of the Servers and Monitors that are registered; those of earlier releases do not register a Monitor."""
    for found in processes.listeners(coordinator, layout):
        kind, record = found.process.kind, found.record
        scheme, inner = _listening(record.address)
        where = f"{record.address} of {record.host}"
        good = True
        if scheme != "https" and not inner:
            good = False
            fix = "Start it with TLS, or with --listen 127.0.0.1:PORT behind a proxy: `replicator docs security`."
            yield Finding(f"{kind}.listener", "fail", f"{where}: without TLS", "https, or loopback", fix)
        if isinstance(record, MonitorRecord) and not record.login and not inner:
            good = False
            fix = "Start it without --no-require-login."
            yield Finding(f"{kind}.listener", "fail", f"{where}: no login is required", "a login, or loopback", fix)
        if isinstance(record, ServerRecord) and record.certificate_problem:
            good = False
            fix = "Look at the log of the Server: it names the file."
            told = f"{where}: its changed TLS files can't be used, the former certificate is in use"
            yield Finding(f"{kind}.listener", "warn", told, "files of TLS that fit each other", fix)
        if good:
            yield Finding.ok(f"{kind}.listener", where)


def _listening(address: str) -> tuple[str, bool]:
    """Scheme, and whether it is on loopback."""
    try:
        parts = urlsplit(address)
        return parts.scheme, is_loopback(parts.hostname or "")
    except ValueError:
        return "", False


def secret_files() -> Iterator[Finding]:
    """The token of this host's Server, and files below the directories of secrets."""
    paths = [default_token_file()]
    for folder in host_access.secrets_directories():
        paths += sorted(Path(folder).rglob("*"))[:_FILES]
    wide = [path for path in paths if _others_read(path)]
    for path in wide:
        mode = f"{stat.S_IMODE(path.stat().st_mode):04o}"
        yield Finding("files.mode", "fail", f"{path} has mode {mode}", "mode 0600", f"Run `chmod 600 {path}`.")
    if not wide:
        yield Finding.ok("files.mode", "no other user of this host reads secrets")


def _others_read(path: Path) -> bool:
    """Certificates are public."""
    try:
        found = path.stat()
    except OSError:
        return False
    public = path.suffix in (".crt", ".cer") or "ca" in path.stem.lower().split("-")
    return stat.S_ISREG(found.st_mode) and bool(found.st_mode & 0o007) and not public


def versions(hosts: str, login: Access) -> Iterator[Finding]:
    for server in parse_ensemble(hosts).servers:
        try:
            answer = _srvr(server, login)
        except (OSError, ConfigError):
            continue  # which of them do not answer is another finding
        match = re.search(r"version: (\d+)\.(\d+)\.(\d+)", answer)
        if match is None:
            fix = "Add srvr to 4lw.commands.whitelist of the server, or look at its log."
            yield Finding("zookeeper.version", "warn", f"{server} does not tell its version", "its version", fix)
            continue
        yield version(str(server), (int(match[1]), int(match[2]), int(match[3])))


def version(server: str, release: _Release) -> Finding:
    shown = f"{server} runs ZooKeeper {'.'.join(map(str, release))}"
    weak = [name for name, since, fixed in WEAKNESSES if since <= release and _is_weak(release, fixed)]
    if not weak:
        return Finding.ok("zookeeper.version", shown)
    return Finding(
        "zookeeper.version",
        "warn",
        f"{shown}: {', '.join(weak)}",
        "3.8.6, 3.9.5 or later",
        "Upgrade ZooKeeper, one server after the other.",
    )


def _is_weak(release: _Release, fixed: tuple[_Release, ...]) -> bool:
    same = [first for first in fixed if first[:2] == release[:2]]
    return release < same[0] if same else release < fixed[0]


def _srvr(server: HostPort, login: Access) -> str:
    with socket.create_connection((server.host, server.port), timeout=3) as plain:
        made = login.context().wrap_socket(plain, server_hostname=server.host) if login.tls else plain
        with made:
            made.settimeout(3)
            made.sendall(b"srvr")
            parts: list[bytes] = []
            while len(parts) < 100 and (part := made.recv(4096)):
                parts.append(part)
    return b"".join(parts).decode(errors="replace")
