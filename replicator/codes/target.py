"""Error codes of sinks that are databases: the target server, its tables, rows and statements."""

from __future__ import annotations

from typing import Final

from replicator.codes.entry import Entry, table

CODES: Final[dict[str, Entry]] = table(
    "sink",
    {
        "E3401": (
            "target not reachable",
            "No connection to the target server could be made.",
            "Check that the server runs, host and port in `sink`, and firewalls. A running task retries.",
        ),
        "E3402": (
            "connection to target lost",
            "The connection was closed, or a statement timed out. The outcome of a commit is read after the reconnect.",
            "None required: the task reconnects.",
        ),
        "E3403": (
            "login refused by target",
            "User name or password is wrong, or the account is for another host.",
            "Correct `sink.user` or `sink.password`, or the account: its host part has to match every Core's host.",
        ),
        "E3404": ("TLS to target failed", "No encrypted connection could be made.", "Correct `sink.tls`."),
        "E3405": (
            "missing privilege at target",
            "The account lacks a privilege.",
            "GRANT the privilege as shown; then `replicator task retry NAME`.",
        ),
        "E3406": (
            "password not protected",
            (
                "The target server requests the password in clear text, or encrypted with its own key, over a "
                "connection that is not verified."
            ),
            (
                "Set `sink.tls` with the CA of the server's certificate and without `insecure`, or, without TLS, set "
                "`sink.server_public_key`."
            ),
        ),
        "E3407": (
            "refused by target",
            "The target server refuses a statement.",
            "Remove the cause that the server names; then `replicator task retry NAME`.",
        ),
        "E3408": (
            "target read-only",
            "No server of the target accepts writes.",
            "Set read_only and super_read_only to OFF on the primary server. The task retries.",
        ),
        "E3409": (
            "target transaction rolled back",
            "A deadlock, a lock wait timeout or a full disk ended the transaction.",
            "None required: the task repeats the transaction.",
        ),
        "E3410": (
            "term fenced at target",
            "A later term writes to the target: the position row has another epoch.",
            "None required: this instance becomes STANDBY.",
        ),
        "E3411": (
            "position table not usable",
            "The position table does not exist and may not be created, or has another definition.",
            "Create it as shown by `replicator docs targets`, or set `sink.create_position_table: true`.",
        ),
        "E3412": (
            "positions at target disagree",
            "The position row is missing, or belongs to another task or installation.",
            "Set the correct position with `replicator task position set NAME`; then `replicator task retry NAME`.",
        ),
        "E3413": (
            "target not strict",
            "Global variables of the target make it ignore rows that it cannot apply, or execute triggers for them.",
            "Set them as shown; then `replicator task retry NAME`.",
        ),
        "E3414": (
            "rows of a commit missing",
            "With `sink.order: key` a commit has several transactions of the target. This target has the position of "
            "one, and not all of its rows: it is a copy that was made while they were ended.",
            "Write what is missing with `replicator verify NAME --repair`, delete the rows of branches as shown, then "
            "`replicator task retry NAME`. Pause tasks with `order: key` while their target is copied.",
        ),
        "E3415": (
            "order by key not supported",
            "The target server has no XA transactions, or none that survive a crash.",
            "Set `sink.order: transaction`, or upgrade the target; then `replicator task retry NAME`.",
        ),
        "E3421": (
            "target table missing",
            "A replicated table does not exist at the target.",
            "Create the table and `replicator task retry NAME`, exclude it with `source.tables`, or map its name with "
            "`transforms.rename`.",
        ),
        "E3422": (
            "target table does not match",
            "A column of the target cannot store every value of its column at the source.",
            "Change the column at the target and `replicator task retry NAME`, or exclude it with "
            "`transforms.columns`.",
        ),
        "E3423": (
            "row missing at target",
            "A row that the source has changed or deleted does not exist at the target.",
            "Correct the row at the target (`replicator verify` compares all rows); then `replicator task retry NAME`.",
        ),
        "E3424": (
            "row exists at target",
            "A row that the source has inserted, or a unique value of it, exists at the target.",
            "Correct the row at the target (`replicator verify` compares all rows); then `replicator task retry NAME`.",
        ),
        "E3425": (
            "row refused by target",
            "The target server refuses a row.",
            "Remove the cause that the server names (a constraint, a trigger); then `replicator task retry NAME`.",
        ),
        "E3426": (
            "row or transaction too large for target",
            "A row exceeds max_allowed_packet of the target server, or a transaction its max_binlog_cache_size.",
            "Raise the limit that is named at the target; then `replicator task retry NAME`.",
        ),
        "E3427": (
            "table not writable by SQL",
            "The account may not execute BINLOG, and rows of the table can't be written by SQL.",
            "GRANT the privilege that is shown, or change or exclude the table.",
        ),
        "E3428": (
            "table altered at target",
            "Another session has changed the order or names of columns while the task wrote to the table.",
            "Compare the table with `replicator verify`; then `replicator task retry NAME`.",
        ),
        "E3431": (
            "statement at the source",
            "The source has changed a definition; `sink.ddl` is stop, or the statement cannot be rewritten.",
            "Make the change at the target; then `replicator task skip NAME`.",
        ),
        "E3432": (
            "statement failed at target",
            "The target server refuses a statement that was executed at the source.",
            "Remove the cause at the target; or make the change there, then `replicator task skip NAME`.",
        ),
        "E3441": (
            "not supported for this sink",
            "The configuration has an option or transform that sinks of type mysql and mariadb do not support.",
            "Remove the key that is shown.",
        ),
        "E3442": (
            "merged tables not distinguishable",
            "Several tables of the source are written to one table, where rows of two of them could have the same key.",
            "Give the columns of `transforms.add` another text for each table, and make them a part of the primary key "
            "and of each unique key of the target.",
        ),
    },
)
