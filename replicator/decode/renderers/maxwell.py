"""Renderers that only Maxwell's JSON uses."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

import msgspec

from replicator.decode.renderers import canal_temporal, text, wkt
from replicator.decode.renderers.cache import Cache
from replicator.decode.renderers.contract import Rendering
from replicator.decode.renderers.quoting import quote
from replicator.decode.values import decimals, json_binary
from replicator.model import types
from replicator.model.table import Column, Table


def decimal(column: Column, table: Table) -> Rendering:
    """A JSON number with all digits of the scale."""
    precision, scale = column.meta >> 8, column.meta & 0xFF
    name = f"java_decimal_{precision}_{scale}"
    size, texts = _decimals(precision, scale)
    return Rendering(f">{size}s", f"{name}[v]", {name: texts})


@cache
def _decimals(precision: int, scale: int) -> tuple[int, Cache[bytes]]:
    size, read = decimals.reader(precision, scale)
    return size, Cache(lambda raw: big_decimal(read(raw), scale))


def big_decimal(unscaled: int, scale: int) -> str:
    """`new BigDecimal(unscaled, scale).toString()`; scale >= 0. With an exponent when its first digit is more than
    six places behind the point."""
    digits = str(abs(unscaled))
    exponent = len(digits) - 1 - scale
    if exponent >= -6:
        return decimals.plain(unscaled, scale)
    point = "." if len(digits) > 1 else ""
    return f"{'-' * (unscaled < 0)}{digits[0]}{point}{digits[1:]}E{exponent}"


def bit(column: Column, table: Table) -> Rendering:
    size = (column.meta >> 8) + bool(column.meta & 0xFF)
    return Rendering(f">{size}s", "f'{from_bytes(v, \"big\")}'", {"from_bytes": int.from_bytes}, hint=4)


def enum(column: Column, table: Table) -> Rendering:
    """As `enum`, but for the error value."""
    rendering = text.enum(column, table)
    return msgspec.structs.replace(rendering, expression=f'({rendering.expression} if v else "null")')


def members(column: Column, table: Table) -> Rendering:
    """In definition order."""
    texts = [quote(member) for member in column.members]

    def make(value: int | bytes) -> str:
        bits = value if isinstance(value, int) else int.from_bytes(value, "little")
        if bits >> len(texts):
            raise text.no_member(column, table, bits)
        return "[" + ",".join(member for place, member in enumerate(texts) if bits >> place & 1) + "]"

    name = f"set_array_{column.index}"
    return Rendering(text.SET_CUTS[column.meta], f"{name}[v]", {name: Cache(make)}, hint=sum(map(len, texts)) + 66)


def json(column: Column, table: Table) -> Rendering:
    return Rendering("bytes", "plain_json(v)", {"plain_json": _json}, hint=400)


def _json(raw: bytes) -> str:
    return json_binary.to_text(raw).encode().decode("latin-1")


def temporal(column: Column, table: Table) -> Rendering:
    return canal_temporal.BUILDERS[column.type](column, table)


def temporal_or_null(column: Column, table: Table) -> Rendering:
    plain = temporal(column, table)
    if column.type in _TIMES:
        return plain
    names = {**plain.names, "real_date": _real_date}
    return msgspec.structs.replace(plain, expression=f"real_date({plain.expression})", names=names)


def _real_date(quoted: str) -> str:
    """`quoted` begins with "YYYY-MM-DD, the quote included."""
    if quoted[1:5] == "0000" or quoted[6:8] == "00" or quoted[9:11] == "00":
        return "null"
    return quoted


_TIMES: Final = frozenset({types.TIME, types.TIME2})
_TEMPORAL: Final = frozenset(canal_temporal.BUILDERS)

RENDERERS: Final[dict[str, tuple[Callable[[Column, Table], Rendering], frozenset[int]]]] = {
    "decimal_java": (decimal, frozenset({types.NEWDECIMAL})),
    "bit_int": (bit, frozenset({types.BIT})),
    "enum_or_null": (enum, frozenset({types.ENUM})),
    "set_array": (members, frozenset({types.SET})),
    "json": (json, frozenset({types.JSON})),
    "temporal": (temporal, _TEMPORAL),
    "temporal_or_null": (temporal_or_null, _TEMPORAL),
    "wkt": (wkt.geometry, frozenset({types.GEOMETRY})),
}
