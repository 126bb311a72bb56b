"""Writes an entry of the audit for each request that changed something, failed or was refused."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import msgspec

from replicator.coordination.access.audit import AuditLog
from replicator.coordination.clock import now_ms
from replicator.errors import CoordinationError, NotConnected, ProcessError
from replicator.model.audit import AuditEntry, Difference
from replicator.telemetry.hosts import App, Message, Receive, Scope, Send
from replicator.telemetry.log import get_logger
from replicator.telemetry.refusals import Refusals
from server.audit_file import AuditFile
from server.request_facts import Facts, address_of, facts_of

_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_MOST_PENDING: Final = 10_000
WAIT_SECONDS: Final = 2.0
"""For which an answer waits for its entry, where ZooKeeper does not answer."""
_log = get_logger("server")


class Allowance:
    """A bounded rate: `most` at once, and one more every `seconds`."""

    def __init__(self, most: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._seconds = seconds
        self._clock = clock
        self._left = float(most)
        self._at = clock()
        self._suppressed = 0

    def take(self) -> int | None:
        """Number of requests that were not allowed since the last one that was; None: this one is not either."""
        at = self._clock()
        self._left = min(float(self._most), self._left + (at - self._at) / self._seconds)
        self._at = at
        if self._left < 1:
            self._suppressed += 1
            return None
        self._left -= 1
        suppressed, self._suppressed = self._suppressed, 0
        return suppressed


class Audit:
    """Entries go to the file at once, and to ZooKeeper before the answer is sent; while ZooKeeper is away they wait in
    memory for `flush`.

    Attributes:
        refusals: of requests that the application does not see; `note_refusals` writes entries of their counts.
    """

    def __init__(self, log: AuditLog, server: str = "", file: AuditFile | None = None) -> None:
        self._log = log
        self._server = server
        self._file = file
        self._lock = threading.Lock()
        self._rates = threading.Lock()
        self._pending: deque[tuple[AuditEntry, bool]] = deque(maxlen=_MOST_PENDING)
        self.refusals = Refusals()
        self._strangers = Allowance(100, 10.0)
        self._early = Allowance(20, 10.0)
        self._known = Allowance(200, 1.0)
        self._writer = ThreadPoolExecutor(1, "audit")

    async def note(self, scope: Scope, status: int) -> None:
        """Writes the entry of a request that ends with `status`, unless it needs none."""
        entry = self._entry(scope, facts_of(scope), status)
        if entry is not None:
            written = asyncio.get_running_loop().run_in_executor(self._writer, self.write, entry)
            await asyncio.wait([written], timeout=WAIT_SECONDS)

    def flush(self) -> None:
        """Writes what waits for ZooKeeper. Raises nothing."""
        with self._lock:
            while self._pending:
                entry, refused = self._pending[0]
                try:
                    self._log.append(entry, refused=refused)
                except NotConnected:
                    return
                except (CoordinationError, ValueError) as error:  # it must not be in front of the others for ever
                    _log.error("an audit entry can't be written", operation=entry.operation, error=str(error))
                self._pending.popleft()

    def note_refusals(self) -> None:
        """Writes an entry for each address and kind of refusal that is to be reported, with the number of requests."""
        for refusal in self.refusals.take(lambda: self._early.take() is not None):
            entry = AuditEntry(
                time_ms=now_ms(),
                address=refusal.address,
                server=self._server,
                outcome="refused",
                status=refusal.status,
                code=refusal.code,
                suppressed=refusal.requests - 1,
            )
            self.write(entry)

    def trim(self) -> None:
        """Raises NotConnected."""
        self._log.trim()

    def _entry(self, scope: Scope, facts: Facts, status: int) -> AuditEntry | None:
        changing = scope["method"] not in _SAFE and not facts.dry_run
        if status < 400 and (not changing or facts.repeated):
            return None
        outcome = _outcome(facts, status)
        if status >= 400 and not changing and outcome != "refused":
            return None
        suppressed: int | None = 0
        if outcome not in ("done", "unknown"):
            with self._rates:
                suppressed = (self._known if facts.principal else self._strangers).take()
            if suppressed is None:
                return None
        principal = facts.principal
        return AuditEntry(
            time_ms=now_ms(),
            by=principal.label if principal else "",
            role=principal.role if principal else "",
            says=facts.says,
            address=address_of(scope),
            server=self._server,
            operation=facts.operation,
            task=facts.task,
            target=facts.target,
            arguments=facts.arguments,
            reason=facts.reason,
            outcome=outcome,
            status=status,
            code=facts.code,
            changes=facts.changes if outcome in ("done", "unknown") else [],
            suppressed=suppressed or 0,
            request=facts.request,
        )

    def write(self, entry: AuditEntry) -> None:
        if self._file is not None:
            try:
                self._file.write(entry)
            except (OSError, ProcessError, ValueError) as error:
                _log.error("the audit file can't be written", error=str(error))
        with self._lock:
            self._pending.append((entry, entry.outcome not in ("done", "unknown")))
        self.flush()


def _outcome(facts: Facts, status: int) -> str:
    if facts.replayed:
        return "replayed"
    if status < 400:
        return "done"
    if status in (401, 403):
        return "refused"
    if status >= 500 and facts.code != "E4001":
        return "unknown"
    return "failed"


def audited(app: App, audit: Audit) -> App:
    """Wraps the whole application, so that no layer can refuse a request without an entry."""

    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        facts_of(scope)

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                await audit.note(scope, int(message["status"]))
            await send(message)

        await app(scope, receive, noted)

    return wrapped


def differences(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> list[Difference]:
    """Of two configurations, by key: `source.host`. Lists are compared as a whole."""
    old, new = dict(_flat(before or {})), dict(_flat(after or {}))
    keys = sorted(old.keys() | new.keys())
    return [Difference(key, old.get(key), new.get(key)) for key in keys if old.get(key) != new.get(key)]


def _flat(config: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key, value in config.items():
        if isinstance(value, Mapping) and value:
            found += _flat(value, f"{prefix}{key}.")
        else:
            found.append(
                (f"{prefix}{key}", value if not isinstance(value, list) else msgspec.json.encode(value).decode())
            )
    return found
