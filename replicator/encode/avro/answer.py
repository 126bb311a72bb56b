"""Reads HTTP replies of a schema registry with size limits.

Whoever may write configurations chooses the address that is asked. So what answers may be something else, which he is
not meant to see: nothing of it gets into an error unless it has the form of a registry's message or schema.
"""

from __future__ import annotations

import json
import time
from typing import Any, Final, NamedTuple

import httpx

_MOST: Final = 8 << 20
"""Bytes of an answer; the list of all subjects is the longest."""
_SHOWN: Final = 200
_SHOWN_SCHEMA: Final = 20_000


class TooLong(httpx.TransportError):
    """The answer does not end in time, or not within `_MOST` bytes."""


class Answer(NamedTuple):
    status: int
    content: bytes

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    def json(self) -> Any:
        """Raises ValueError."""
        try:
            return json.loads(self.content)
        except RecursionError:
            raise ValueError("nested too deep") from None

    @property
    def code(self) -> int | None:
        """The registry's own error code, which is finer than the status; None without one."""
        code = self._failure().get("error_code")
        return code if isinstance(code, int) else None

    @property
    def message(self) -> str:
        """What a registry has against the request; anything else is not shown."""
        text = self._failure().get("message")
        return cleaned(text, _SHOWN) if self.code is not None and isinstance(text, str) else "without a message"

    def _failure(self) -> dict[str, Any]:
        try:
            found = self.json()
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}


def ask(client: httpx.Client, method: str, url: str, body: dict[str, str] | None, seconds: float) -> Answer:
    """Redirections are not followed. Raises httpx.RequestError; `seconds` hold for the whole answer, too."""
    end = time.monotonic() + 2 * seconds
    with client.stream(method, url, json=body, follow_redirects=False) as response:
        chunks: list[bytes] = []
        size = 0
        for chunk in response.iter_bytes():
            size += len(chunk)
            if size > _MOST or time.monotonic() > end:
                raise TooLong("the answer is incomplete")
            chunks.append(chunk)
        return Answer(response.status_code, b"".join(chunks))


def failure(url: str, error: httpx.RequestError) -> str:
    """Why there is no answer. What the other side sent is not in it."""
    told = isinstance(error, httpx.ConnectError | httpx.TimeoutException | TooLong)
    return f"{url}: {type(error).__name__}" + (f" {cleaned(str(error), _SHOWN)}" if told else "")


def shown_schema(text: str | None) -> str:
    """A schema of a registry, for an error."""
    if text is None:
        return "none"
    try:
        schema = json.loads(text)
    except (ValueError, RecursionError):
        return "no Avro schema"
    if isinstance(schema, dict) and isinstance(schema.get("type"), str):
        return cleaned(text, _SHOWN_SCHEMA)
    return cleaned(text, _SHOWN) if isinstance(schema, str) else "no Avro record"


def cleaned(text: str, most: int) -> str:
    kept = "".join(char if char.isprintable() else " " for char in text[:most])
    return kept if len(text) <= most else f"{kept}..."
