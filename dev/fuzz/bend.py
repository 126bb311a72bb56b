"""Mutations of binlogs at the level of events; random bytes would mostly fail on lengths."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from dev.fuzz.case import Case

Event: TypeAlias = tuple[int, int, bytes]
Mutate: TypeAlias = Callable[[bytes, int], bytes]
"""(bytes, most bytes of the result) -> others"""

FORMS: Final = 8
"""Of `dev.fuzz.check.SINKS`."""

_EDGES = (0, 1, 0x7F, 0x80, 0xFA, 0xFB, 0xFC, 0xFD, 0xFE, 0xFF)
_KINDS = (2, 4, 15, 16, 19, 23, 24, 25, 29, 30, 31, 32, 33, 38, 39, 40, 42, 160, 162, 165, 166, 169, 254)


def bent(case: Case, dice: random.Random, mutate: Mutate, others: Sequence[Case]) -> Case:
    """`mutate`: of plain bytes; `others`: whose events may come in."""
    choice = dice.randrange(12)
    if choice == 0:
        return replace(case, form=dice.randrange(FORMS), switches=case.switches ^ dice.choice((0, 2, 4, 8)))
    if choice == 1:
        return replace(case, piece=dice.choice((0, 1, 3, 20)))
    if choice == 2:
        return replace(case, at=dice.randrange(1 << 16), damage=dice.choice((0, 1 << dice.randrange(8), 0xFF)))
    events = list(case.events)
    if not events:
        return dice.choice(others) if others else case
    at = dice.randrange(len(events))
    if choice == 3:
        events.insert(at, dice.choice(events))
    elif choice == 4 and len(events) > 1:
        del events[at]
    elif choice == 5 and others:
        events[at:at] = _some(dice.choice(others).events, dice)
    elif choice == 6:
        events[at] = (dice.choice(_KINDS), events[at][1], events[at][2])
    else:
        kind, flags, body = events[at]
        events[at] = (kind, flags, _body(body, dice, mutate))
    return replace(case, events=tuple(events))


def _some(events: tuple[Event, ...], dice: random.Random) -> tuple[Event, ...]:
    at = dice.randrange(len(events) + 1)
    return events[at : at + dice.randrange(1, 5)]


def _body(body: bytes, dice: random.Random, mutate: Mutate) -> bytes:
    if not body or dice.randrange(3) == 0:
        return mutate(body, len(body) + 32)
    changed = bytearray(body)
    at = dice.randrange(len(changed))
    choice = dice.randrange(5)
    if choice == 0:
        changed[at] = dice.choice(_EDGES)
    elif choice == 1:
        changed[at] ^= 1 << dice.randrange(8)
    elif choice == 2:
        del changed[at : at + dice.choice((1, 1, 2, 4))]
    elif choice == 3:
        changed[at:at] = bytes(dice.choice(_EDGES) for _ in range(dice.choice((1, 1, 2, 4))))
    else:
        changed[at:] = b""
    return bytes(changed)
