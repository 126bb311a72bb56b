"""What each process asks of ZooKeeper: counters of its connections, by session."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dev.servers import ZooKeeper

_CONNECTION = re.compile(r"recved=(\d+),sent=(\d+),sid=0x([0-9a-f]+)")


def received(members: Sequence[ZooKeeper]) -> dict[int, int]:
    """Requests by session since its connection began, pings among them."""
    found: dict[int, int] = {}
    for member in members:
        if member.running:
            for count, _, session in _CONNECTION.findall(member.four_letter_word("cons")):
                found[int(session, 16)] = int(count)
    return found


def counter(members: Sequence[ZooKeeper], name: str) -> float:
    """Of `mntr`, over all members."""
    total = 0.0
    for member in members:
        for line in member.four_letter_word("mntr").splitlines() if member.running else ():
            key, _, value = line.partition("\t")
            total += float(value) if key == name else 0.0
    return total
