"""Guards of the compiled decoder: row filters and compressed transactions, in C and where they are planned."""

from __future__ import annotations

from typing import Final

from dev.mutants.guard import Guard

_LOOP: Final = "replicator/compiled/loop.pyx"
_FILTERS: Final = "replicator/compiled/filters.pxd"
_PROGRAM: Final = "replicator/compiled/program.pyx"
_PAYLOAD: Final = "replicator/decode/binlog/transaction_payload.py"
_PLANNER: Final = "replicator/decode/native/filters.py"
_PAYLOAD_TESTS: Final = ("tests/unit/compiled/test_payload.py",)
_FILTER_TESTS: Final = ("tests/unit/compiled/test_filters.py",)

COMPILED: Final[tuple[Guard, ...]] = (
    Guard(
        "compressed transaction: taken only when all of its events are whole",
        _LOOP,
        "        if not only_events(base, size):\n",
        "        if False:\n",
        _PAYLOAD_TESTS,
        compiled=True,
    ),
    Guard(
        "compressed transaction: at most one piece is decompressed before batches leave",
        _LOOP,
        "size > self.piece or self.inflated >= self.piece:",
        "size > self.piece:",
        _PAYLOAD_TESTS,
        compiled=True,
    ),
    Guard(
        "compressed transaction: an event of a piece is taken only when the next one is whole",
        _LOOP,
        "            if not whole and (\n",
        "            if False and (\n",
        _PAYLOAD_TESTS,
        compiled=True,
    ),
    Guard(
        "compressed transaction: a field that is stated twice is refused",
        "replicator/compiled/payloads.pxd",
        "kind > 3 or fields[kind] >= 0 or end - p < length:",
        "kind > 3 or end - p < length:",
        _PAYLOAD_TESTS,
        compiled=True,
    ),
    Guard(
        "compressed transaction: what it was left at is applied before Python goes on",
        "replicator/decode/native/event_loop.py",
        "if behind != at or self.loop.inside_payload:",
        "if behind != at:",
        _PAYLOAD_TESTS,
        compiled=True,
    ),
    Guard(
        "compressed transaction: events that were decompressed have the size that is stated",
        _LOOP,
        "if found is None or PyBytes_GET_SIZE(found) != size:",
        "if found is None:",
        _PAYLOAD_TESTS,
        compiled=True,
    ),
    Guard(
        "compressed transaction: the commit waits for the proof that all is there",
        _PAYLOAD,
        "            if after > len(buffer):\n",
        "            if behind > len(buffer):\n",
        ("tests/unit/decode/test_transaction_payload.py",),
    ),
    Guard(
        "filter: a value that is NULL passes no comparison",
        _FILTERS,
        "    if kind == NULL_TEST or value.at == NULL:\n",
        "    if kind == NULL_TEST:\n",
        _FILTER_TESTS,
        compiled=True,
    ),
    Guard(
        "filter: the other column may be NULL",
        _FILTERS,
        "    if other.at == NULL:\n",
        "    if False:\n",
        _FILTER_TESTS,
        compiled=True,
    ),
    Guard(
        "filter: text that is not UTF-8 is compared in Python",
        _FILTERS,
        "            if step == 0:\n                return False\n            p += step\n",
        "            p += step if step else 1\n",
        _FILTER_TESTS,
        compiled=True,
    ),
    Guard(
        "filter: digits that no server writes are read in Python",
        _FILTERS,
        "        if part >= _power(group):\n",
        "        if False:\n",
        _FILTER_TESTS,
        compiled=True,
    ),
    Guard(
        "filter: an ENUM's number above its members is refused",
        _FILTERS,
        "        return to.number <= how.a\n",
        "        return True\n",
        _FILTER_TESTS,
        compiled=True,
    ),
    Guard(
        "filter: months that no server writes are compared in Python",
        _FILTERS,
        "        if part > 12:\n",
        "        if False:\n",
        _FILTER_TESTS,
        compiled=True,
    ),
    Guard(
        "filter: fractions of a second that no server writes are compared in Python",
        _FILTERS,
        "        return part < 1000000\n",
        "        return True\n",
        _FILTER_TESTS,
        compiled=True,
    ),
    Guard(
        "filter: zeros that the binlog cuts off are compared",
        _FILTERS,
        "        if other[shared]:\n            return -1\n",
        "        break\n",
        _FILTER_TESTS,
        compiled=True,
    ),
    Guard(
        "filter: a row that Python refuses is left to the generated function",
        _PROGRAM,
        "                if verdict < 0:\n                    return DECLINED\n",
        "",
        _FILTER_TESTS,
        compiled=True,
    ),
    Guard(
        "filter: constants above every value of a column are not cut off",
        _PLANNER,
        "    if least <= below <= most:\n",
        "    if True:\n",
        _FILTER_TESTS,
        compiled=True,
    ),
    Guard(
        "filter: constants between two values of a column equal none",
        _PLANNER,
        "    if exact != below:  # no value equals it\n",
        "    if False:\n",
        _FILTER_TESTS,
        compiled=True,
    ),
    Guard(
        "filter: columns of different kinds are compared in Python",
        _PLANNER,
        "    return kinds[0] is not None and kinds[0] == kinds[1] and one.scale == other.scale",
        "    return True",
        _FILTER_TESTS,
        compiled=True,
    ),
)
