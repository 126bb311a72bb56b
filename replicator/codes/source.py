"""Error codes of sources: servers, binlogs and their events."""

from __future__ import annotations

from typing import Final

from replicator.codes.entry import Entry, table

CODES: Final[dict[str, Entry]] = table(
    "source",
    {
        "E2001": (
            "server not reachable",
            "No connection to the database server could be made.",
            "Check that the server runs, host and port in `source`, and firewalls. A running task retries.",
        ),
        "E2002": ("connection lost", "The stream ended or stalled.", "None required: the task reconnects."),
        "E2101": (
            "login refused",
            "User name or password is wrong, or the account is for another host.",
            "Correct `source.user` or `source.password`, or the account: its host part has to match every Core's host.",
        ),
        "E2102": ("TLS failed", "No encrypted connection could be made.", "Correct `source.tls`."),
        "E2104": (
            "missing privilege",
            "The account lacks a privilege.",
            "GRANT the privilege as shown; then `replicator task retry NAME`.",
        ),
        "E2105": (
            "password not protected",
            (
                "The server requests the password in clear text, or encrypted with its own key, over a "
                "connection that is not verified."
            ),
            (
                "Set `source.tls` with the CA of the server's certificate and without `insecure`, or, without "
                "TLS, set `source.server_public_key`."
            ),
        ),
        "E2201": (
            "binary log disabled",
            "The server writes no binlog.",
            "Restart the server with log_bin in its configuration file.",
        ),
        "E2202": (
            "binlog_format",
            "Only row-based events contain rows.",
            "SET GLOBAL binlog_format = 'ROW'; also in the server's configuration file; then reconnect the sessions.",
        ),
        "E2203": (
            "binlog_row_image",
            "Only FULL images have all columns.",
            "SET GLOBAL binlog_row_image = 'FULL'; also in the server's configuration file; then reconnect the "
            "sessions.",
        ),
        "E2204": (
            "unsupported release",
            "Binlogs of releases before MySQL 5.5 and MariaDB 10.2 are not supported.",
            "Upgrade the server.",
        ),
        "E2205": ("table missing", "A configured table does not exist.", "Correct `source.tables`."),
        "E2206": (
            "position purged",
            "The server has purged binlog that the task still needs. Rows would be lost.",
            (
                "Restore the binlog files; or set `source.snapshot: when_needed` and `replicator task retry NAME`, "
                "so that the task takes a new snapshot. See `replicator docs operations purged`. To continue without "
                "the rows that are lost: `replicator task position set NAME --earliest`."
            ),
        ),
        "E2207": (
            "server id in use",
            "Another replica uses the id.",
            "Set `source.server_id` to an unused one, or remove it: the bus then assigns one.",
        ),
        "E2208": (
            "binlog retention",
            "The server purges binlogs too early.",
            "Raise binlog_expire_logs_seconds, or expire_logs_days on older servers, also in the configuration file.",
        ),
        "E2209": (
            "invalid position",
            "The position does not exist on the server, or is not one.",
            "Give a GTID set of the server, or a file and the offset of a transaction's start: in `source.start` of "
            "a new "
            "task, else with `replicator task position set NAME`.",
        ),
        "E2210": (
            "GTID settings",
            "They do not match the task.",
            "Set gtid_mode to ON in steps (OFF_PERMISSIVE, ON_PERMISSIVE, ON), or use a file and an offset as "
            "position.",
        ),
        "E2211": (
            "server error",
            "The server refuses a statement or the stream.",
            "Remove the cause that the server names; then `replicator task retry NAME`.",
        ),
        "E2212": ("wrong server type", "The server is not of the configured type.", "Correct `source.type`."),
        "E2214": (
            "no primary key",
            "The order of changes to a row is not guaranteed.",
            "Add a primary key to the table.",
        ),
        "E2216": (
            "concurrent DDL",
            "DDL statements were executed during each attempt to read the table definitions.",
            "The task retries. Pause schema changes while it starts.",
        ),
        "E2217": (
            "session restarted",
            "The schema history has grown by many statements and is compacted in a new session.",
            "None required: the task continues.",
        ),
        "E2218": (
            "binlog of another server",
            "The position belongs to the binlog of another server, or to one that was deleted since (RESET).",
            (
                "Connect the task to that server again, or set a position of this server with `replicator task "
                "position set`."
            ),
        ),
        "E2221": (
            "no key for a snapshot",
            "The rows of a table without a usable key can't be read in parts.",
            "Add a key, or set `source.snapshot.without_key`.",
        ),
        "E2222": (
            "new snapshot",
            (
                "The source has purged binlog that the task needs, or has deleted it, and source.snapshot is "
                "when_needed: the task delivers all rows again. Rows that were deleted meanwhile are not reported."
            ),
            "None required: the task continues. See `replicator docs snapshots purged` for rows that were deleted.",
        ),
        "E2223": (
            "two tables with one name",
            "The names of two tables with their databases are the same once joined by a point: a snapshot can't "
            "distinguish them.",
            "Exclude one of them from the task, or rename it.",
        ),
        "E2224": (
            "lock not granted",
            "A long statement or a table lock of the source delays FLUSH TABLES WITH READ LOCK for seconds.",
            "End long statements (SHOW PROCESSLIST); the task tries again.",
        ),
        "E2225": (
            "consistent view lost",
            "A connection was lost, or a table was altered, before all rows of a consistent snapshot were read.",
            "None required: the snapshot begins again, and delivers all rows again.",
        ),
        "E2226": (
            "no consistent view",
            "The storage engine of a table has no consistent views.",
            "Convert the table to InnoDB, exclude it, or set `source.snapshot.consistent: false`.",
        ),
        "E2227": (
            "too few connections",
            "The source's account may not open as many connections as the snapshot needs, or the server has none left.",
            "Raise MAX_USER_CONNECTIONS of the account, or lower `source.snapshot.connections`.",
        ),
        "E2280": (
            "author of a transaction not known",
            (
                "`source.skip_replicated` names tasks, and a transaction of a task begins with a row event of "
                "`replicator_position` that can't be read: the table has other columns, or the row image lacks its key."
            ),
            "Create the table as shown by `replicator docs targets`, or set `source.skip_replicated: all`.",
        ),
        "E2290": (
            "shared stream left",
            (
                "A task with `source.share: auto` reads with a separate connection again: it was slower than the "
                "other tasks, or the shared connection ended. The log of its worker says which."
            ),
            "None required: the task continues where it was, and comes back when it has caught up.",
        ),
        "E2301": (
            "unsupported event",
            "The binlog contains an event that cannot be decoded but affects replicated data.",
            "Use a version of mysql-replicator that supports it, or exclude the table with `source.tables`.",
        ),
        "E2302": (
            "corrupt event",
            "The checksum or structure of a binlog event is invalid.",
            "Check the file with `mysqlbinlog --verify-binlog-checksum`. If it is damaged: `replicator task position "
            "set "
            "NAME` after the damage, `replicator task retry NAME`, and read the tables again with `replicator task "
            "snapshot "
            "start NAME --table DATABASE.TABLE`. If it is not, report the error.",
        ),
        "E2303": (
            "statement-based change",
            "Rows were changed by a statement that was logged as such, not as row events.",
            "SET GLOBAL binlog_format = 'ROW'; reconnect the sessions; then read the tables again in a new task.",
        ),
        "E2304": (
            "incomplete row image",
            "A row event lacks columns or, with row_image: accept_partial, columns that are required.",
            "SET GLOBAL binlog_row_image = 'FULL'; reconnect the sessions; then read the tables again in a new task.",
        ),
        "E2305": (
            "incident event",
            "The server reports that changes are missing from its binlog.",
            "`replicator task position set NAME` after the incident, `replicator task retry NAME`, and read all tables "
            "again with `replicator task snapshot start NAME --table DATABASE.TABLE`.",
        ),
        "E2306": (
            "incomplete metadata",
            (
                "A table map has no column names, and the schema history does not know the table, has a "
                "different definition, or knows only a later one."
            ),
            "SET GLOBAL binlog_row_metadata = 'FULL', also in the configuration file; or `replicator task schema NAME "
            "--set-table FILE`.",
        ),
        "E2307": (
            "value not representable",
            "The output format cannot represent a value.",
            "Exclude the column, or choose another encoding of it: `replicator docs formats`.",
        ),
        "E2309": (
            "DDL not parsed",
            "The schema history cannot apply a DDL statement on a replicated table.",
            "Supply the definition with `replicator task schema NAME --set-table FILE`; then `replicator task retry "
            "NAME`.",
        ),
        "E2310": (
            "transform does not match table",
            "A transform names a column that the table does not have, or cannot be applied to its type.",
            "Correct the rule of `transforms`, and apply the configuration.",
        ),
        "E2311": (
            "temporary disk space exhausted",
            "Rows of a large transaction are buffered in a temporary file, and the disk is full.",
            "Free disk space in TMPDIR of the Core's host. The task retries.",
        ),
        "E2312": (
            "rows of XA transaction purged",
            "A committed XA transaction has its rows in binlog that cannot be read any more.",
            "Take a new snapshot of the tables that it changed, and create a new task after it.",
        ),
        "E2313": (
            "position inside a transaction",
            (
                "Part of the transaction was delivered from the binlog of another server, with another "
                "configuration, or as Canal messages."
            ),
            "Apply the earlier configuration, or use `replicator task position set NAME --transaction-start`.",
        ),
    },
)
