"""Images with other columns: the compiled code writes the bytes of its twin, and values stay the same."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replicator import compiled
from replicator.sink.mysql.transcoding import KINDS, LATIN1, Kind, Plan, Step, Twin, transcoder


@st.composite
def column(draw: Any, index: int) -> tuple[int, Step]:
    """(bytes of the value, a step of it)"""
    kind: Kind = draw(st.sampled_from(KINDS))
    if kind == "copy":
        return draw(st.sampled_from([0, 1, 3, 8, -1, -2, -4])), Step(kind, index)
    if kind in ("little", "big"):
        given_ = draw(st.integers(1, 8))
        sign = draw(st.integers(0, 1)) if kind == "little" else 0
        return given_, Step(kind, index, given_, draw(st.integers(given_, 8)), sign)
    if kind in ("prefix", "latin1"):
        given_ = draw(st.integers(1, 3))
        return -given_, Step(kind, index, given_, draw(st.integers(2 if kind == "latin1" else given_, 4)))
    if kind == "double":
        return 4, Step(kind, index, 4, 8)
    if kind == "fraction":
        head, behind = draw(st.integers(3, 5)), draw(st.integers(0, 3))
        wanted = draw(st.integers(behind, 3))
        return head + behind, Step(kind, index, head + behind, head + wanted, head, int(head == 3))
    scale = draw(st.integers(0, 30))
    whole = draw(st.integers(0 if scale else 1, 65 - scale))
    places = draw(st.integers(scale, 30))
    more = draw(st.integers(whole, 65 - places)) if 65 - places >= whole else whole
    if more + places > 65:
        places = scale
    given_, stored = decimal_size(whole, scale), decimal_size(more, places)
    first, second = (whole + scale) << 8 | scale, (more + places) << 8 | places
    return given_, Step(kind, index, given_, stored, first, second)


def decimal_size(whole: int, part: int) -> int:
    digits = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
    return whole // 9 * 4 + digits[whole % 9] + part // 9 * 4 + digits[part % 9]


def packed_decimal(value: int, precision: int, scale: int) -> bytes:
    """As both servers store it; written here in another way than in the code. `value`: without the point."""
    digits = str(abs(value)).rjust(precision, "0")
    whole, part = digits[: precision - scale], digits[precision - scale :]
    first = len(whole) % 9
    groups = [whole[:first]] if first else []
    groups += [whole[at : at + 9] for at in range(first, len(whole), 9)]
    groups += [part[at : at + 9] for at in range(0, len(part), 9)]
    found = bytearray()
    for group in groups:
        found += int(group).to_bytes(decimal_size(0, len(group)), "big")
    found[0] |= 0x80
    return bytes(byte ^ 0xFF for byte in found) if value < 0 else bytes(found)


@st.composite
def cases(draw: Any) -> tuple[Plan, bytes, int]:
    found = [draw(column(index)) for index in range(draw(st.integers(1, 11)))]
    sizes = tuple(size for size, _ in found)
    steps = draw(st.permutations([step for _, step in found]))
    steps = steps[draw(st.integers(0, len(steps) - 1)) :]
    of_row = draw(st.integers(1, 2))
    images = []
    for _ in range(of_row * draw(st.integers(0, 4))):
        nulls = draw(st.integers(0, (1 << len(sizes)) - 1))
        bitmap = nulls | (~0 << len(sizes)) & ((1 << 8 * ((len(sizes) + 7) // 8)) - 1)
        image = bitmap.to_bytes((len(sizes) + 7) // 8, "little")
        for index, (size, step) in enumerate(found):
            if not nulls >> index & 1:
                image += draw(value(size, step))
        images.append(image)
    return Plan(sizes, tuple(steps)), b"".join(images), of_row


@st.composite
def value(draw: Any, size: int, step: Step) -> bytes:
    if size < 0:
        text = draw(st.binary(max_size=255))
        return len(text).to_bytes(-size, "little") + text
    if step.kind == "decimal":
        precision, scale = divmod(step.first, 256)
        number = draw(st.integers(-(10**precision) + 1, 10**precision - 1))
        return packed_decimal(number, precision, scale)
    return draw(st.binary(min_size=size, max_size=size))


@settings(max_examples=500, deadline=None)
@given(cases(), st.sampled_from([0, 10, 60, 1 << 20]), st.booleans())
def test_any_plan(case: tuple[Plan, bytes, int], most: int, damaged: bool) -> None:
    if not compiled.available():
        pytest.skip("not compiled")
    plan, images, of_row = case
    images = images[:-1] if damaged else images
    try:
        expected = Twin(plan).run(images, of_row, most)
    except ValueError:
        with pytest.raises(ValueError, match="beyond the end"):
            transcoder(plan)(images, of_row, most)
        return
    assert transcoder(plan)(images, of_row, most) == expected


def both(size: int, step: Step, value: bytes) -> bytes:
    """One column of one row, without its bitmap."""
    plan = Plan((size,), (step,))
    ((rows, image),) = Twin(plan).run(b"\xfe" + value, 1, 100)
    assert transcoder(plan)(b"\xfe" + value, 1, 100) == [(rows, image)]
    assert (rows, image[0]) == (1, 0xFE)
    return image[1:]


@pytest.mark.parametrize(
    ("step", "value", "found"),
    [
        (Step("little", 0, 1, 4, 1), b"\xff", b"\xff\xff\xff\xff"),
        (Step("little", 0, 1, 4, 0), b"\xff", b"\xff\0\0\0"),
        (Step("little", 0, 3, 8, 1), b"\0\0\x80", b"\0\0\x80\xff\xff\xff\xff\xff"),
        (Step("big", 0, 1, 3), b"\x05", b"\0\0\x05"),
        (Step("double", 0, 4, 8), struct.pack("<f", 0.1), struct.pack("<d", 0.10000000149011612)),
        (Step("fraction", 0, 3, 6, 3, 1), b"\x80\0\1", b"\x80\0\1\0\0\0"),
        (Step("fraction", 0, 4, 5, 3, 1), b"\x7f\xff\xff\xf6", b"\x7f\xff\xff\xfc\x18"),  # -00:00:00.1
        (Step("fraction", 0, 4, 6, 3, 1), b"\x7f\xff\xff\xf6", b"\x7f\xff\xff\xfe\x79\x60"),
        (Step("fraction", 0, 6, 7, 5), b"\x99\0\0\0\0\x63", b"\x99\0\0\0\0\x26\xac"),
    ],
)
def test_values(step: Step, value: bytes, found: bytes) -> None:
    assert both(len(value), step, value) == found


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_decimals(data: st.DataObject) -> None:
    scale = data.draw(st.integers(0, 30))
    whole = data.draw(st.integers(0 if scale else 1, 65 - scale))
    places = data.draw(st.integers(scale, min(30, 65 - whole)))
    more = data.draw(st.integers(whole, 65 - places))
    digits = data.draw(st.integers(-(10 ** (whole + scale)) + 1, 10 ** (whole + scale) - 1))
    given_ = packed_decimal(digits, whole + scale, scale)
    wanted = packed_decimal(digits * 10 ** (places - scale), more + places, places)
    step = Step("decimal", 0, len(given_), len(wanted), (whole + scale) << 8 | scale, (more + places) << 8 | places)
    assert both(len(given_), step, given_) == wanted


def test_texts() -> None:
    assert both(-1, Step("prefix", 0, 1, 3), b"\2ab") == b"\2\0\0ab"
    assert both(-1, Step("latin1", 0, 1, 2), b"\3a\xe4\x80") == b"\6\0a\xc3\xa4\xe2\x82\xac"
    assert len(set(LATIN1)) == 256


def test_order_and_parts() -> None:
    plan = Plan((1, 2), (Step("copy", 1), Step("copy", 0)))
    rows = b"\xfc\1ab\xfc\2cd"
    for run in (Twin(plan).run, transcoder(plan)):
        assert run(rows, 1, 4) == [(1, b"\xfcab\1"), (1, b"\xfccd\2")]
        assert run(rows, 1, 8) == [(2, b"\xfcab\1\xfccd\2")]
        assert run(rows, 2, 1) == [(1, b"\xfcab\1\xfccd\2")]
    assert not plan.same
    assert Plan((1, 2), (Step("copy", 0), Step("copy", 1))).same
    assert not Plan((1, 2), (Step("copy", 0),)).same
