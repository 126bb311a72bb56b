"""Tasks and queries that filter and order are tried with: here in Python, in tests/integration in the browser."""

from __future__ import annotations

import random
from typing import Final

from monitor.filtering import Facts, explained, matches, ordered, parse

NOW: Final = 1_795_721_000_000

TASKS: Final = (
    Facts(
        name="orders_to_lake", state="running", states=("running",), host="host-a", standby=("host-b", "host-c"),
        labels=("env=prod", "team=web"), source="mysql db1:3306", sink="t, debezium, kafka kafka-1:9092", standbys=2,
        version="0.1.0", epoch=4294971000, lag=0.02, rate=812.0, event=NOW - 300,
        behind=5_400_000.0, transactions=12.0, pid=4711, checkpoint=NOW - 900,
        position="binlog.000042:8", takeover=NOW - 86_400_000, headroom=259_200.0,
    ),
    Facts(
        name="Billing", state="failed", states=("failed",), trouble=90, host="host-b", labels=("env=prod",),
        source="mysql db2:3306", sink="t, canal, kafka kafka-2:9092", codes=("e3102", "e1001"),
        notes=("new configuration refused, the previous one is in use",), version="0.2.0", checkpoint=NOW - 3_600_000,
        position="binlog.000042:9",
    ),
    Facts(
        name="crm", state="running", states=("running", "retrying"), trouble=46, host="host-a",
        labels=("env=test", "tier"), source="mysql db1:3306", sink="kafka kafka-1:9092", codes=("e3001",),
        notes=("retrying the sink for 12 s (e3001)", "no standby"), lag=47.0, rate=0.0, event=NOW - 1_320_000,
        checkpoint=NOW - 47_000, position="binlog.000041:4", takeover=NOW - 60_000, epoch=7, config=3,
    ),
    Facts(name="inventory", state="no-running", states=("no-running",), trouble=80, group="eu", position=""),
    Facts(name="blue", state="paused", states=("paused",), trouble=10, host="host-c", lag=None, config=3, epoch=7),
    Facts(name="zeta", state="running", states=("running",), host="host-a", lag=47.0, rate=812.0, standbys=1),
)  # fmt: skip

QUERIES: Final = (
    "", " ", "!", "!!", "state:", "state:failed", "STATE:Failed", "state:fail", "state:running", "state:no-running",
    "state:failed,no-running", "state:retrying", "!state:running", "!!state:running", "state=paused", "state>3",
    "label:env=prod", "label:env!=prod", "label:env", "!label:env", "label:tier", "label:", "label:env=prod,env=test",
    "label:env=prod label:team=web", "host:a", "host:host-a,host-c", "standby:b", "group:eu", "source:db1",
    "sink:kafka-1", "code:E3102", "code:e3", "E3102", "e3102", "kafka-1:9092", "!kafka", "note:\"no standby\"",
    "\"no standby\"", "\"no", "is:problem", "!is:problem", "is:retrying", "lag>30", "lag>=47", "lag<1", "lag<=0.02",
    "lag=47", "lag:47", "lag>", "lag>x", "!lag>30", "lag>0.01m", "lag<1h", "rate>0.5k", "rate=0", "event>20m",
    "checkpoint>1min", "takeover<2h", "!takeover<2h", "headroom<4d",
    "behind>5mb", "behind<=5400kb", "behind>1gb", "!behind>0",
    "transactions>=12", "!transactions<13", "pid:4711", "standbys<1", "standbys=1", "epoch:7", "config=3",
    "version:0.2", "sate:failed", "state:failed label:env=prod host:b", "a b", "name:billing", "name:crm,blue",
    "lag>30 !zeta", "!\"", "name:", "lag>99999999999999999999", "état:x", "İ", "\u2003blue", "!name:crm state:r",
)  # fmt: skip

ORDERS_TRIED: Final = (
    "", "nothing", "lag", "-lag", "name", "-name", "host", "-host", "rate", "event", "-event", "checkpoint", "takeover",
    "epoch", "-epoch", "headroom",
    "behind", "-behind", "position", "state", "standbys", "-standbys", "version", "source", "--lag",
)  # fmt: skip


def random_queries(number: int, seed: int = 23) -> list[str]:
    """Of pieces of the language, joined at random."""
    pieces = (
        "state", "lag", "label", "host", "is", ":", ">", "<", ">=", "=", "!", "!=", ",", " ", '"', "30", "1.5", "m",
        "h", "env", "prod", "running", "failed", "a", "kafka-1", "e3", "problem", "no", "-", ".",
    )  # fmt: skip
    choice = random.Random(seed)
    return ["".join(choice.choices(pieces, k=choice.randint(1, 9))) for _ in range(number)]


def answer(query: str) -> tuple[list[str], str]:
    """Names that it shows, and what it says."""
    terms = parse(query)
    return [task.name for task in TASKS if matches(terms, task, NOW)], explained(terms)


def order(column: str) -> list[str]:
    return [task.name for task in ordered(TASKS, column)]
