"""One column rendered as the row compiler does it: cut, expression, latin-1 text to bytes."""

from __future__ import annotations

import json
import struct
from typing import Any

from replicator.decode.renderers import rendering
from replicator.model import types
from replicator.model.table import Column, Table


def render(name: str, raw: bytes, type_: int, **attributes: Any) -> bytes:
    """The JSON value that `raw`, without its length prefix, becomes."""
    column = Column(index=0, name="c", type=type_, **attributes)
    table = Table(database="d", name="t", columns=(column,))
    made = rendering(name, column, table)
    value: Any
    if made.cut == "text":
        value = raw.decode("latin-1")
    elif made.cut == "bytes":
        value = raw
    else:
        assert struct.calcsize(made.cut) == len(raw), f"{made.cut} does not fit {types.NAMES[type_]}"
        (value,) = struct.unpack(made.cut, raw)
    text: str = eval(made.expression, {**made.names, "v": value})  # noqa: S307
    encoded = text.encode("latin-1")
    json.loads(encoded)  # whatever it is, it is JSON in UTF-8
    return encoded
