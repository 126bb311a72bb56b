"""An entry of the audit: a request, who sent it, what it changed and how it ended."""

from __future__ import annotations

from typing import Any

import msgspec


class Difference(msgspec.Struct, frozen=True, omit_defaults=True):
    """One value of a configuration or login that a request has changed. null: the key is absent."""

    key: str
    before: Any = None
    after: Any = None


class AuditEntry(msgspec.Struct, kw_only=True):
    """A request that changed something, or that was refused.

    Attributes:
        by: the verified login, "" without one; `says`: what the client says of its user.
        address: of the client; `server`: the Server that was asked.
        operation: operationId of the API, "" for one that there is not.
        target: the login that is changed; `arguments`: of the command.
        outcome: "done"; "failed", nothing was changed; "refused", by missing rights; "replayed", nothing was done
            again; "unknown", whether it was done.
        changes: of the configuration or the login.
        number: increases from entry to entry, with gaps; 0 where it has none, as in the file of a Server.
        request: the Idempotency-Key of the request, "" without one.
        suppressed: number of requests before this one that failed or were refused and have no entry.
    """

    time_ms: int
    by: str = ""
    role: str = ""
    says: str = ""
    address: str = ""
    server: str = ""
    operation: str = ""
    task: str = ""
    target: str = ""
    arguments: dict[str, str] = {}
    reason: str = ""
    outcome: str = ""
    status: int = 0
    code: str = ""
    changes: list[Difference] = []
    suppressed: int = 0
    request: str = ""
    number: int = 0
