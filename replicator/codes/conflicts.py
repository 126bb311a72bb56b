"""Error codes of conflicts: rows of a target server that are not what the source says they were."""

from __future__ import annotations

from typing import Final

from replicator.codes.entry import Entry, table

CODES: Final[dict[str, Entry]] = table(
    "sink",
    {
        "E3450": (
            "conflicts cannot be resolved",
            "A rule of `sink.conflict` applies to a table whose rows cannot be found by the values of their images.",
            "Give the table a primary key, or put a rule `{tables: [...], policy: stop}` for it in front.",
        ),
        "E3451": (
            "row differs at target",
            "A row of the target is not what it was at the source before a change, and the policy is stop.",
            "Correct the row at the target (`replicator verify` compares all rows), or choose another policy with "
            "`sink.conflict`; then `replicator task retry NAME`.",
        ),
        "E3452": (
            "no column for newest_wins",
            "The column that `sink.conflict` names is missing in a table, or is neither an integer nor a time.",
            "Name a column that the task writes in all tables of the rule, or put another rule for the table in front.",
        ),
        "E3453": (
            "table of conflicts not usable",
            "The table replicator_conflicts is missing at the target, or has other columns.",
            "Create it as shown by `replicator docs targets`, or set `sink.create_position_table: true`.",
        ),
        "E3454": (
            "too many dead letters at target",
            "The policy dead_letter keeps changes in replicator_conflicts, and there are more than `keep_conflicts`.",
            "Apply or discard the changes, delete their rows, then `replicator task retry NAME`.",
        ),
    },
)
