"""Converts DEFAULT clauses to values."""

from __future__ import annotations

import datetime
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from decimal import Decimal
from typing import Final

from replicator.model import types
from replicator.model.json_string import quote
from replicator.model.table import Column

_CURRENT: Final = re.compile(r"(?:CURRENT_TIMESTAMP|NOW|LOCALTIME|LOCALTIMESTAMP)\b", re.IGNORECASE)
_BITS: Final = re.compile(r"(?:b'|0b)([01]+)'?", re.IGNORECASE)
_HEX: Final = re.compile(r"(?:x'|0x)([0-9a-f]+)'?", re.IGNORECASE)
_INTRODUCER: Final = re.compile(r"_\w+\s*(?=[xb]'|0[xb])", re.IGNORECASE)
_WORDS: Final = {"TRUE": 1, "FALSE": 0}
_CODECS: Final = {"utf8": "utf-8", "utf8mb3": "utf-8", "utf8mb4": "utf-8", "ascii": "ascii", "latin1": "cp1252"}
"""Of characters that a literal's bytes can be; the DEFAULT of another character set is not known."""
_EPOCH: Final = datetime.datetime(1970, 1, 1)
_TIME: Final = re.compile(r"(-?)(\d+):(\d+)(?::(\d+)(?:\.(\d+))?)?")


def is_current(column: Column) -> bool:
    """DEFAULT CURRENT_TIMESTAMP or a synonym of it."""
    declared = column.declared
    return declared is not None and declared.default is not None and bool(_CURRENT.match(declared.default))


def default(column: Column, renderer: str) -> str | None:
    """The DEFAULT as JSON in the notation of `renderer`; None without one, for NULL, for expressions, for what is no
    value of the type, and for zero dates.

    CURRENT_TIMESTAMP is the epoch, in TIMESTAMPs only of NOT NULL columns, as Debezium has it.
    """
    declared = column.declared
    if declared is None or not declared.has_default or declared.default is None:
        return None
    text = declared.default
    if is_current(column):
        stamp = column.type in (types.TIMESTAMP, types.TIMESTAMP2)
        if stamp and column.nullable:
            return None
        text = "1970-01-01 00:00:00"
    elif declared.default_is_expression:
        return None
    write = _WRITERS.get(renderer.removesuffix("_windowed"))
    try:
        return write(text, column) if write is not None else None
    except (ValueError, ArithmeticError):
        return None


def _number(text: str) -> int:
    for pattern, base in ((_BITS, 2), (_HEX, 16)):
        match = pattern.fullmatch(text)
        if match:
            return int(match[1], base)
    return _WORDS[text.upper()] if text.upper() in _WORDS else int(Decimal(text))


def _integer(text: str, column: Column) -> str:
    value = _number(text)
    return str(value - (1 << 64) if value >= 1 << 63 else value)


def _boolean(text: str, column: Column) -> str:
    return "true" if _number(text) else "false"


def _bit(text: str, column: Column) -> str:
    length = 8 * (column.meta >> 8) + (column.meta & 0xFF)
    if length == 1:
        return _boolean(text, column)
    return f'"{b64encode(_number(text).to_bytes((length + 7) // 8, "little")).decode()}"'


def _base64(value: int) -> str:
    size = (value if value >= 0 else ~value).bit_length() // 8 + 1
    return f'"{b64encode(value.to_bytes(size, "big", signed=True)).decode()}"'


def _scaled(text: str, column: Column) -> Decimal:
    return Decimal(_number(text) if _literal(column) else text).quantize(Decimal(1).scaleb(-(column.meta & 0xFF)))


def _unscaled(text: str, column: Column) -> str:
    return _base64(int(_scaled(text, column).scaleb(column.meta & 0xFF)))


def _double(text: str, column: Column) -> str:
    """Java's notation."""
    value = float(text)
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    head, rest = str(digits[0]), "".join(map(str, digits[1:])) or "0"
    return f"{'-' if sign else ''}{head}.{rest}E{int(exponent) + len(digits) - 1}"


def _literal(column: Column) -> bool:
    return column.declared is not None and column.declared.default_is_literal


def _digits(text: str) -> bytes:
    """The bytes of a hexadecimal or bit literal. Raises ValueError for anything else."""
    text = _INTRODUCER.sub("", text)
    if match := _HEX.fullmatch(text):
        return bytes.fromhex(match[1].zfill(len(match[1]) + len(match[1]) % 2))
    if match := _BITS.fullmatch(text):
        return int(match[1], 2).to_bytes((len(match[1]) + 7) // 8, "big")
    raise ValueError(text)


def _characters(text: str, column: Column) -> str:
    """The text that the server has of the DEFAULT of a column with characters."""
    if not _literal(column):
        return quote(text)
    if text.upper() in _WORDS:
        return quote(str(_WORDS[text.upper()]))
    codec = _CODECS.get((column.declared.charset if column.declared else None) or "")
    if codec is None:
        raise ValueError(text)
    return quote(_digits(text).decode(codec))


def _bytes(text: str, column: Column) -> bytes:
    if _literal(column) and text.upper() in _WORDS:
        raw = str(_WORDS[text.upper()]).encode()
    else:  # what an earlier version has read does not say whether it is a literal
        raw = _digits(text) if _literal(column) or _HEX.fullmatch(text) else text.encode()
    return raw.ljust(column.meta, b"\0") if column.type == types.STRING else raw


def _moment(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text.strip())


def _micros(text: str) -> int:
    return (_moment(text) - _EPOCH) // datetime.timedelta(microseconds=1)


def _iso(text: str, column: Column) -> str:
    moment = _moment(text)
    fraction = f".{moment.microsecond:06d}".rstrip("0") if moment.microsecond else ""
    return f'"{moment:%Y-%m-%dT%H:%M:%S}{fraction}Z"'


def _stamp(text: str, column: Column) -> str:
    moment, digits = _moment(text), column.meta if column.type == types.TIMESTAMP2 else 0
    fraction = f".{moment.microsecond:06d}"[: digits + 1] if digits else ""
    return f'"{moment:%Y-%m-%dT%H:%M:%S}{fraction}Z"'


def _time(text: str) -> int:
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(text)
    sign, hours, minutes, seconds, fraction = match.groups()
    whole = int(hours) * 3600 + int(minutes) * 60 + int(seconds or 0)
    return (-1 if sign else 1) * (whole * 1_000_000 + int((fraction or "").ljust(6, "0")[:6]))


def _time_of_day(text: str) -> int:
    micros = _time(text)
    if not 0 <= micros <= 86_400_000_000:
        raise ValueError(text)
    return micros


_WRITERS: Final[dict[str, Callable[[str, Column], str]]] = {
    "int_java": _integer,
    "bool": _boolean,
    "bit": _bit,
    "year": _integer,
    "unsigned_base64": lambda text, column: _base64(_number(text)),
    "decimal_base64": _unscaled,
    "decimal_string": lambda text, column: f'"{_scaled(text, column):f}"',
    "decimal_double": _double,
    "float_java": _double,
    "text": _characters,
    "enum": _characters,
    "set": _characters,
    "base64": lambda text, column: f'"{b64encode(_bytes(text, column)).decode()}"',
    "base64_url": lambda text, column: f'"{urlsafe_b64encode(_bytes(text, column)).decode()}"',
    "hex": lambda text, column: f'"{_bytes(text, column).hex()}"',
    "date_days": lambda text, column: str((_moment(text) - _EPOCH).days),
    "date_iso": lambda text, column: f'"{_moment(text):%Y-%m-%d}Z"',
    "datetime_ms": lambda text, column: str(_micros(text) // 1000),
    "datetime_us": lambda text, column: str(_micros(text)),
    "datetime_ns": lambda text, column: str(_micros(text) * 1000),
    "datetime_iso": _iso,
    "timestamp_iso": _stamp,
    "time_us": lambda text, column: str(_time(text)),
    "time_ns": lambda text, column: str(_time(text) * 1000),
    "time_ms": lambda text, column: str(_time_of_day(text) // 1000),
}
