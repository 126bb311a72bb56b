"""Error codes of the address book."""

from __future__ import annotations

from typing import Final

from replicator.codes.entry import Entry, table

CODES: Final[dict[str, Entry]] = table(
    "addresses",
    {
        "E4100": (
            "address name or value not valid",
            "A name of the address book is APP/DOMAIN; its value is host:port, with an IPv6 address in brackets.",
            "Use letters, digits, `.`, `_` and `-` in the name, and a value such as db1.example.com:3306 or "
            "[2001:db8::7]:3306.",
        ),
        "E4101": (
            "no such address",
            "There is no address of this name in the address book, and a task cannot connect without it.",
            "Set it: `replicator ddns set APP/DOMAIN HOST:PORT`. `replicator ddns ls` shows the names. A task that "
            "waits for it starts then.",
        ),
        "E4102": (
            "address not readable",
            "The record of this name in the address book is damaged, or of a newer version.",
            "Set it again: `replicator ddns set APP/DOMAIN HOST:PORT`.",
        ),
        "E4103": (
            "address in use",
            "Tasks connect to the address of this name.",
            "Change `address` in the configuration of these tasks first, or delete them.",
        ),
        "E4104": (
            "no address book",
            "The configuration has an address of the address book, which is in ZooKeeper, and this command does not "
            "use it.",
            "Set `host` and `port`, or `bootstrap_servers`, in the configuration for this command.",
        ),
        "E4105": (
            "change of address refused",
            "The server behind the new address does not pass the checks of a fail-over, so the task stays connected "
            "to the former one.",
            "Correct what `found` says, or set the former address: `replicator ddns set`. The task repeats the "
            "checks. To accept the new server as it is: `replicator task pause`, then `replicator task position set`.",
        ),
        "E4106": (
            "another Kafka cluster",
            "The brokers behind the new address belong to another cluster than the records and positions of the task.",
            "Set the address of a broker of the same cluster. To write to another cluster, create a task.",
        ),
        "E4107": (
            "target without a position",
            "The server behind the new address has no position of the task, so it is no copy of the former target.",
            "Set the address of a server that has the rows and the table replicator_position of the former target.",
        ),
        "E4108": (
            "address does not answer",
            "The server behind this address did not answer the master Server's probe.",
            "Check the server and the network. No task is repointed by this: `replicator ddns set` does that.",
        ),
    },
)
