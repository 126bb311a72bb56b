"""Makes functions of raw bytes from renderers."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from replicator.decode.renderers.contract import Rendering


def renderer(rendering: Rendering) -> Callable[[bytes], str]:
    """The renderer as a function of the bytes of a value, without the length in front of them."""
    try:
        return _renderer(rendering.cut, rendering.expression, tuple(rendering.names.items()))
    except TypeError:  # a name stands for something that can't be looked up
        return _renderer.__wrapped__(rendering.cut, rendering.expression, tuple(rendering.names.items()))


@lru_cache(maxsize=5000)
def _renderer(cut: str, expression: str, names: tuple[tuple[str, Any], ...]) -> Callable[[bytes], str]:
    function: Callable[..., str] = eval(  # noqa: S307 of this package's renderers
        f"lambda v: {expression}", dict(names)
    )
    if cut == "bytes":
        return function
    if cut == "text":
        return lambda raw: function(raw.decode("latin-1"))
    unpack = struct.Struct(cut).unpack
    return lambda raw: function(*unpack(raw))
