"""The faults of a soak, as data, and their schedule, derived from a seed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

Step: TypeAlias = tuple[str | float, ...]


class Fault(NamedTuple):
    """`steps`: (verb, arguments), the verbs are methods of `hands.Hands`; what they left dead or frozen is put right
    after them. Times are in units of the session timeout T. `down`: how long nothing can be expected to work, in T,
    besides the T that an unforeseen take-over costs."""

    name: str
    steps: tuple[Step, ...]
    down: float = 0.0


def _killed(who: str) -> Fault:
    return Fault(f"{who}: SIGKILL", (("signal", who, "KILL"),))


def _ended(who: str) -> Fault:
    return Fault(f"{who}: SIGTERM", (("signal", who, "TERM"),))


def _frozen(who: str, seconds: float) -> Fault:
    """`seconds` in T."""
    name = f"{who}: SIGSTOP for {seconds:g} T, SIGCONT"
    return Fault(name, (("signal", who, "STOP"), ("sleep", seconds), ("signal", who, "CONT")), seconds)


def _cut(way: str, verb: str, times: float, *arguments: str | float) -> Fault:
    whose = {"zookeeper": "leader's way to ZooKeeper", "mysql": "ways to MySQL", "kafka": "ways to Kafka"}[way]
    how = " ".join(str(word) for word in (verb.replace("_", " "), *arguments))
    return Fault(f"{whose}: {how} for {times:g} T", (("cut", way, verb, times, *arguments),), times + 1.5)


def _reconfigured(*then: Step) -> Fault:
    """MySQL is read slowly meanwhile, so that the change finds the task inside a transaction."""
    name = "configuration changed inside large transactions"
    slowly, again = ("begin", "mysql", "throttle", 1_500_000), ("begin", "mysql", "pass_")
    name += "".join(f", then {step[1]}: SIGKILL" for step in then)
    return Fault(name, (slowly, ("by_hand", "reconfigure"), *then, ("sleep", 0.5), again), 3)


FAULTS: tuple[Fault, ...] = (
    *(_killed(who) for who in ("leader", "leader-host", "standby", "all")),
    *(_ended(who) for who in ("leader", "standby", "all")),
    *(_frozen(who, t) for who in ("leader", "leader-host", "standby", "all") for t in (0.3, 2.2)),
    _killed("worker"),
    *(_frozen("worker", t) for t in (0.3, 1.5)),
    Fault("worker: SIGSTOP for good", (("signal", "worker", "STOP"),), 3),
    Fault("election node deleted by hand", (("delete_own_node",),)),
    Fault("switchover", (("cli", "task", "switchover", "{task}"),)),
    Fault("switchover --to", (("cli", "task", "switchover", "{task}", "--to", "{last standby}"),)),
    Fault(
        "pause, resume", (("cli", "task", "pause", "{task}"), ("sleep", 0.5), ("cli", "task", "resume", "{task}")), 1
    ),
    _reconfigured(),
    Fault("delivery switched to exactly_once and back", (("by_hand", "switch_delivery"),), 2),
    Fault("task deleted, made again at its position", (("by_hand", "recreate"),), 2),
    Fault("task made and deleted at once, three times", (("by_hand", "flicker"),)),
    Fault("table swapped for a copy by RENAME", (("by_hand", "swap_table"),)),
    Fault("columns added, renamed, changed, dropped", (("by_hand", "alter_table"),)),
    Fault("statement that can't be replicated, skipped", (("by_hand", "skip"),), 2),
    *(_reconfigured(("signal", who, "KILL")) for who in ("worker", "leader-host", "all")),
    Fault(
        "table swapped for a copy by RENAME, then leader-host: SIGKILL",
        (("by_hand", "swap_table"), ("signal", "leader-host", "KILL")),
    ),
    Fault("ZooKeeper: SIGKILL, restart", (("restart", "zookeeper", 0.2),), 1),
    Fault("ZooKeeper: SIGKILL, restart after 1.5 T", (("restart", "zookeeper", 1.5),), 2.5),
    Fault("ZooKeeper: SIGSTOP for 0.4 T", (("freeze", "zookeeper", 0.4),), 0.4),
    Fault("ZooKeeper: SIGSTOP for 2 T", (("freeze", "zookeeper", 2.0),), 2.5),
    # A broker that was killed registers again only when the controller has given up the dead one: 9 s.
    Fault("Kafka: SIGKILL, restart", (("restart", "kafka", 0.2),), 4),
    Fault("Kafka: SIGSTOP for 1 T", (("freeze", "kafka", 1.0),), 1.5),
    Fault("MySQL: SIGKILL, restart", (("restart", "mysql", 0.2),), 2),
    Fault("MySQL: dump connections killed", (("kill_dumps",),)),
    Fault("MySQL: FLUSH BINARY LOGS", (("sql", "FLUSH BINARY LOGS"),)),
    Fault("MySQL: SIGSTOP for 1 T", (("freeze", "mysql", 1.0),), 1.5),
    *(_cut("zookeeper", "black_hole", t) for t in (0.4, 2.5)),
    _cut("zookeeper", "black_hole", 2.0, "down"),
    _cut("zookeeper", "black_hole", 2.0, "up"),
    _cut("zookeeper", "reset", 0.0),
    _cut("zookeeper", "cut_after", 0.5, 100),
    _cut("zookeeper", "refuse", 1.5),
    _cut("zookeeper", "delay", 2.0, 0.2),
    _cut("mysql", "reset", 0.0),
    _cut("mysql", "black_hole", 1.5),
    _cut("mysql", "cut_after", 0.5, 3000),
    _cut("mysql", "refuse", 0.5),
    _cut("mysql", "throttle", 2.0, 20_000),
    _cut("kafka", "reset", 0.0),
    _cut("kafka", "black_hole", 1.5),
    _cut("kafka", "black_hole", 1.0, "down"),
    _cut("kafka", "black_hole", 1.0, "up"),
    _cut("kafka", "cut_after", 0.5, 3000, "up"),
    _cut("kafka", "cut_after", 0.5, 200, "down"),
    _cut("kafka", "refuse", 0.5),
    _cut("kafka", "delay", 1.0, 0.2),
    _cut("kafka", "throttle", 1.0, 50_000),
    Fault("CPUs: all busy for 2 T", (("starve", 2.0),), 2),
)


class Planned(NamedTuple):
    """`wait`: seconds before it; `task`: index of the task it is aimed at; `late`: seconds until what died is started
    again."""

    wait: float
    fault: Fault
    task: int
    late: float


def schedule(seed: int, tasks: int) -> Iterator[Planned]:
    """Without end; the same for the same seed. Every fault of the table comes before any comes again."""
    chance = random.Random(seed)
    while True:
        for fault in chance.sample(FAULTS, len(FAULTS)):
            yield Planned(chance.uniform(0.2, 2), fault, chance.randrange(tasks), chance.choice((0.2, 1.0, 5.0)))
