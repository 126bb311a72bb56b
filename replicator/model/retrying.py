"""What a task retries: which side does not answer, since when, and what that means for consumers."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

Side: TypeAlias = Literal["source", "sink", "registry", "host", ""]


class Retrying(msgspec.Struct, kw_only=True):
    """What a task retries at the moment. `side`: "source", "sink", "registry" (of schemas), "host" (a fault of the
    Core's host), or "" for anything else. `code`, `what`, `found`, `fix`: of the last error. `since_ms`: when it began,
    by the clock of the Core; `seconds`: how long that is ago. `attempts`: failed ones since then; 0: the first one has
    not ended yet. `effect`: what it means for consumers."""

    side: str
    code: str = ""
    what: str = ""
    found: str = ""
    fix: str = ""
    since_ms: int = 0
    seconds: float = 0.0
    attempts: int = 0
    effect: str = ""


class Blocked(msgspec.Struct, frozen=True):
    """A call of the source or the sink that has not returned, or records without an acknowledgement, for `seconds`."""

    side: Literal["source", "sink"]
    seconds: float


EFFECTS: Final[dict[Side, str]] = {
    "source": "No new changes are read, so consumers receive none. Delivery resumes at the last position.",
    "sink": "No new records are delivered. Changes wait at the source, and are delivered in order afterwards.",
    "registry": "No records are delivered while their schemas can't be registered. Changes wait at the source.",
    "host": "Nothing is delivered from this host. Changes wait at the source.",
    "": "Nothing is delivered until an attempt succeeds. Changes wait at the source.",
}
