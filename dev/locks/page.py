"""docs/locks.md: page.md with what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dev.locks.faults import TTL, WAIT, Outcome
from dev.locks.speed import OWNERS, Speed
from dev.pages.markdown import row, table

SYSTEMS = {
    "redis": "Redis, `SET NX PX`",
    "redlock": "Redlock, 5 Redis",
    "zookeeper": "ZooKeeper, `replicator lock`",
}
FAULTS = {
    "pause": "A is stopped (SIGSTOP) after it has checked the lock",
    "restart": "a server restarts; of Redlock one of the three that A has",
    "clock": "the wall clock of the server jumps ahead; of Redlock, of three servers",
    "partition": "A is cut off from all servers",
}


def page(speeds: Sequence[Speed], outcomes: Sequence[Outcome], seconds: float, load: float) -> str:
    heads = ("fault", "lock", "B has it after", "A believes so, too", "write of A behind B's", "with fencing tokens")
    return (Path(__file__).with_name("page.md").read_text()).format(
        ttl=f"{TTL:g}",
        wait=f"{WAIT:g}",
        seconds=f"{seconds:g}",
        owners=OWNERS,
        load=f"{load:.0f}",
        outcomes="\n".join([*table(*heads), *(_outcome(one) for one in outcomes)]),
        speeds="\n".join(
            [*table("lock", "owners", "cycles/s, all owners", "acquire p50 ms", "p99 ms"), *map(_speed, speeds)]
        ),
    )


def _speed(one: Speed) -> str:
    return row(SYSTEMS[one.system], str(one.owners), f"{one.cycles:.0f}", f"{one.p50:.2f}", f"{one.p99:.1f}")


def _outcome(one: Outcome) -> str:
    after = f"not within {WAIT:g} s" if one.b_after is None else f"{one.b_after:.1f} s"
    fenced = {None: "no tokens", True: "refused", False: "accepted"}[one.fenced] if one.late_write else "-"
    late = "accepted" if one.late_write else "none"
    believes = "it is stopped" if one.fault == "pause" else "**yes**" if one.both else "no"
    return row(
        FAULTS[one.fault], SYSTEMS[one.system], after, believes if one.b_after is not None else "-", late, fenced
    )
