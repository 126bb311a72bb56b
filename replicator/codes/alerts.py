"""Error codes of alerts: rules, silences and routes."""

from __future__ import annotations

from typing import Final

from replicator.codes.entry import Entry, table

CODES: Final[dict[str, Entry]] = table(
    "alerts",
    {
        "E5180": (
            "alert rules not valid",
            "A file of alert rules has a key, a value or a condition that is not valid.",
            "Correct the line that is named; `replicator alert rules --check FILE` reads the file without a Monitor.",
        ),
        "E5181": (
            "alert file unreadable",
            "A file of alert rules or routes can't be read.",
            "Create the file, readable for the user of the Monitor.",
        ),
        "E5182": (
            "alert routes not valid",
            "A file of alert routes has a key or a value that is not valid.",
            "Correct the line that is named; `replicator alert routes --alert-routes FILE` checks the file.",
        ),
        "E5183": (
            "alert not sent",
            "The receiver of a route did not accept a message. The Monitor tries again, with longer and longer pauses, "
            "and says so on every page until it succeeds.",
            "Correct the route or its receiver, then try it with `replicator alert test ROUTE`.",
        ),
        "E5184": (
            "no such alert, route or silence",
            "There is no alert rule, route or silence of this name or id.",
            "List them with `replicator alert rules`, `replicator alert ls` or `replicator alert silences`.",
        ),
        "E5185": (
            "silence not valid",
            "A silence needs at least one matcher, an end in the future, and a reason.",
            "Name a rule, a task, a machine or a label, and give --for and --reason.",
        ),
        "E5186": (
            "alerts not stored",
            "Alerts can't be written to the file of the Monitor. It keeps them in memory and tries again; without the "
            "file a restart of the Monitor begins each alert again.",
            "Free space in the file system of the file that the log names, or let the Monitor write to it.",
        ),
        "E5187": (
            "Monitor can't take part in the election of the sender",
            "The Monitor has routes for alerts and may not write the znodes that decide which Monitor sends. It sends "
            "nothing.",
            "Run `replicator cluster secure` of this release, or `replicator cluster init`, as an administrator.",
        ),
    },
)
