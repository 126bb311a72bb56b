"""Error codes of logins, roles and the audit."""

from __future__ import annotations

from typing import Final

from replicator.codes.entry import Entry, table

CODES: Final[dict[str, Entry]] = table(
    "access",
    {
        "E5070": (
            "login exists",
            "A token or a user of this name exists, or there are too many of them.",
            "`replicator token list` and `replicator user list` show them.",
        ),
        "E5071": (
            "no such login",
            "There is no token or user of this name.",
            "`replicator token list` and `replicator user list` show them.",
        ),
        "E5072": (
            "role not sufficient",
            "The login is valid, but its role or its selector does not permit the operation.",
            "Use a login with the role that is named; an admin creates it: `replicator token create`.",
        ),
        "E5073": (
            "audit file",
            "The file of --audit-file cannot be written, or other users can read it.",
            "Give a path that only the user of the Server can read and write.",
        ),
        "E5074": (
            "idempotency key of another request",
            "An idempotency key identifies one request. It was used before, with another request.",
            "Use a new key for each request, and the same key only to repeat a request.",
        ),
        "E5075": (
            "request not finished",
            "A request with this idempotency key is being executed, or its Server ended before the request did.",
            "Repeat it later; if the answer is the same after a minute, see `replicator task describe NAME`.",
        ),
        "E5076": (
            "too many idempotency keys",
            "The number of idempotency keys that are kept is limited.",
            "Send requests without a key, or later: keys are kept for a day.",
        ),
        "E5077": (
            "identity provider",
            "The file of --oidc is not valid, or the keys of the identity provider cannot be read.",
            "Correct the file, or check that the Server reaches the provider. See `replicator docs security`.",
        ),
    },
)
