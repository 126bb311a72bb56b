"""Bodies of requests."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from replicator.errors import ConfigError
from replicator.model.decoding import from_json

T = TypeVar("T")


def decoded(body: bytes, kind: type[T], wanted: str, *, wrong: str = "a wrong value") -> T:
    """JSON as a `kind`.

    Args:
        wanted: an example, or what it is, for the error; wrong: what the request has, else.

    Raises:
        ConfigError: E1001 for what is no JSON, E1003 for another value.
    """
    try:
        return from_json(body, kind)
    except msgspec.ValidationError as error:
        raise ConfigError("E1003", f"the request has {wrong}: {error}", wanted=wanted) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigError(
            "E1001",
            f"the request can't be read: {error}",
            wanted="JSON",
            fix="Send a JSON object as the body of the request.",
        ) from None
