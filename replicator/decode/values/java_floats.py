"""Prints floating point numbers as `Double.toString` and `Float.toString` of Java 19 and later.

The shortest digits that read back as the same number; plain notation from 1E-3 to below 1E7, otherwise one digit before
the point and an E. Earlier Java versions print a superfluous digit now and then (1.17549435E-38), the same number.
"""

from __future__ import annotations

import math
import struct
from typing import Final

_FLOAT: Final = struct.Struct("<f")

_ASYMMETRIC: Final = {2.0**-96: 1.2621775e-29, 2.0**87: 1.5474251e26, 2.0**90: 1.2379401e27}
"""The powers of two whose shortest text is not the nearest of its length: the gap below them is half the one above."""


def double(value: float) -> str:
    """The text of a 64-bit number."""
    size = abs(value)
    if 1e-3 <= size < 1e7 or not size:
        return repr(value)
    text = repr(value)
    if "n" in text:
        return {"inf": '"Infinity"', "-inf": '"-Infinity"'}.get(text, '"NaN"')
    sign = "-" if text[0] == "-" else ""
    mantissa, _, exponent = text[len(sign) :].partition("e")
    if exponent:
        digits, power = _two_digits(mantissa, int(exponent), size)
        return f"{sign}{digits}E{power}"
    whole, _, fraction = mantissa.partition(".")
    if size >= 1:
        digits, power = (whole + fraction).rstrip("0"), len(whole) - 1
    else:
        digits = fraction.lstrip("0")
        power = len(digits) - len(fraction) - 1
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{power}"


def _two_digits(mantissa: str, power: int, size: float) -> tuple[str, int]:
    """Digits and exponent. Java prints two digits at least, and the nearest two where one would do (4.9E-324, not
    5.0E-324; 9.9E-324, not 1.0E-323)."""
    if "." in mantissa:
        return mantissa, power
    nearest = f"{size:.1e}"
    if float(nearest) != size:
        return mantissa + ".0", power
    digits, _, exponent = nearest.partition("e")
    return digits, int(exponent)


def single(value: float) -> str:
    """The text of a 32-bit number, given as the float that has the same value."""
    return double(_shortest(value))


def _shortest(value: float) -> float:
    """The number with the fewest decimal digits that rounds to the same 32-bit number."""
    if value - value != 0:  # infinite or NaN
        return value
    if abs(value) in _ASYMMETRIC:
        return math.copysign(_ASYMMETRIC[abs(value)], value)
    for precision in range(2 if abs(value) < 1.2e-38 else 6, 9):
        candidate = float(f"{value:.{precision}g}")
        try:
            if _FLOAT.unpack(_FLOAT.pack(candidate))[0] == value:
                return candidate
        except OverflowError:  # rounded up beyond the largest 32-bit number
            continue
    return float(f"{value:.9g}")
