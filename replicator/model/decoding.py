"""Decoders of msgspec, made by one thread at a time.

msgspec stores what it knows of a struct at its class when the first decoder for it is made, before that is complete.
Another thread that makes a decoder with the same struct inside, or decodes with `type=`, uses what is not complete and
crashes the process. So every typed decoder of the program is made here, under one lock; decoding itself needs none.
"""

from __future__ import annotations

import threading
from typing import Any, Final, TypeVar

import msgspec

T = TypeVar("T")
_MAKING: Final = threading.Lock()
_JSON: Final[dict[Any, msgspec.json.Decoder[Any]]] = {}
_MSGPACK: Final[dict[Any, msgspec.msgpack.Decoder[Any]]] = {}


def json_decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    found = _JSON.get(kind)
    if found is None:
        with _MAKING:
            found = _JSON[kind] = msgspec.json.Decoder(kind)
    return found


def msgpack_decoder(kind: type[T]) -> msgspec.msgpack.Decoder[T]:
    found = _MSGPACK.get(kind)
    if found is None:
        with _MAKING:
            found = _MSGPACK[kind] = msgspec.msgpack.Decoder(kind)
    return found


def from_json(data: bytes | str, kind: type[T]) -> T:
    """Raises msgspec.MsgspecError."""
    return json_decoder(kind).decode(data)


def from_msgpack(data: bytes, kind: type[T]) -> T:
    """Raises msgspec.MsgspecError."""
    return msgpack_decoder(kind).decode(data)


def converted(value: Any, kind: type[T]) -> T:
    """What JSON, YAML or a database has returned, as `kind`. Raises msgspec.ValidationError."""
    json_decoder(kind)
    return msgspec.convert(value, kind)
