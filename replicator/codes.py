"""The table of error codes. docs/errors.md is made from it; a code that is not in it cannot be raised."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, TypeAlias

Scope: TypeAlias = Literal["host", "either", "task"]


class Entry(NamedTuple):
    """area: the word after the code; title: a heading for the docs; meaning: why it happens;
    remedy: what to do when the place that raises it knows nothing better."""

    area: str
    title: str
    meaning: str
    remedy: str


def _table(area: str, rows: dict[str, tuple[str, str, str]]) -> dict[str, Entry]:
    return {code: Entry(area, *row) for code, row in rows.items()}


CODES: dict[str, Entry] = {
    **_table(
        "config",
        {
            "E1001": ("syntax error", "The text is not valid YAML or JSON.", "Correct the syntax at the line shown."),
            "E1002": (
                "unknown key",
                "The configuration has a key that does not exist. Unknown keys are never ignored.",
                "Remove or correct the key.",
            ),
            "E1003": ("invalid value", "A value of wrong type or out of range.", "See `replicator explain task`."),
            "E1004": ("missing key", "A required key is absent.", "Add it."),
            "E1005": (
                "literal secret",
                "Configurations hold references to secrets, never secrets.",
                "Use env:NAME or file:/path.",
            ),
            "E1006": (
                "secret not resolvable",
                "The variable or file that the reference names does not exist or cannot be read.",
                "Set the variable or create the file.",
            ),
            "E1007": ("invalid name", "Kafka or ZooKeeper does not allow this name.", "Choose another name."),
            "E1008": ("too large", "The text is too long or too deeply nested.", "Shorten it."),
            "E1009": (
                "identity changed",
                "A key on which the meaning of the stored position depends cannot be changed.",
                "Create a new task.",
            ),
            "E1010": (
                "invalid filter",
                "The syntax of the filter is wrong (docs/transforms.md).",
                "Correct the filter.",
            ),
            "E1011": (
                "transforms do not match tables",
                "A transform names a table or column that the source does not have.",
                "Correct the transform.",
            ),
            "E1012": (
                "secret not allowed",
                "The process does not allow tasks to use this secret, TLS file or command.",
                (
                    "Move it to an allowed directory, or start the process with --secrets-directory, "
                    "--secrets-env-prefix or --commands-directory."
                ),
            ),
            "E1013": (
                "state in a configuration",
                "Tables are put in quarantine by commands, not by the configuration.",
                (
                    "Remove the key and use `replicator task quarantine NAME DATABASE.TABLE`; --release ends the "
                    "quarantine."
                ),
            ),
        },
    ),
    **_table(
        "source",
        {
            "E2001": (
                "server not reachable",
                "No connection to the database server could be made.",
                "Check host, port and firewall. The task retries.",
            ),
            "E2002": ("connection lost", "The stream ended or stalled.", "None required: the task reconnects."),
            "E2101": ("login refused", "User name or password is wrong.", "Correct `source.user` / `source.password`."),
            "E2102": ("TLS failed", "No encrypted connection could be made.", "Check `source.tls`."),
            "E2104": ("missing privilege", "The account lacks a privilege.", "GRANT the privilege as shown."),
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
            "E2201": ("binary log disabled", "The server writes no binlog.", "Start the server with log_bin."),
            "E2202": ("binlog_format", "Only row-based events contain rows.", "SET PERSIST binlog_format = 'ROW';"),
            "E2203": (
                "binlog_row_image",
                "Only FULL images have all columns.",
                "SET PERSIST binlog_row_image = 'FULL';",
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
                "Create a new task or take a new snapshot.",
            ),
            "E2207": ("server id in use", "Another replica uses the id.", "Set `source.server_id` to an unused one."),
            "E2208": (
                "binlog retention",
                "The server purges binlogs too early.",
                "SET PERSIST binlog_expire_logs_seconds = 604800;",
            ),
            "E2209": ("invalid position", "The position does not exist on the server.", "Check `source.start`."),
            "E2210": ("GTID settings", "They do not match the task.", "SET PERSIST gtid_mode = ON;"),
            "E2211": ("server error", "The server ended the stream with an error.", "See the message of the server."),
            "E2212": ("wrong server type", "The server is not of the configured type.", "Set `source.type`."),
            "E2214": ("no primary key", "The order of changes to a row is not guaranteed.", "Add a primary key."),
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
            "E2301": (
                "unsupported event",
                "The binlog contains an event that cannot be decoded but affects replicated data.",
                "See the message for the server setting that avoids such events.",
            ),
            "E2302": (
                "corrupt event",
                "The checksum or structure of a binlog event is invalid.",
                "Check the disk of the source and take a new snapshot.",
            ),
            "E2303": (
                "statement-based change",
                "Rows were changed by a statement that was logged as such, not as row events.",
                "SET binlog_format = 'ROW' in that session.",
            ),
            "E2304": (
                "incomplete row image",
                "A row event lacks columns or, with row_image: accept_partial, columns that are required.",
                "SET binlog_row_image = 'FULL' in that session.",
            ),
            "E2305": (
                "incident event",
                "The server reports that changes are missing from its binlog.",
                "Take a new snapshot of the tables.",
            ),
            "E2306": (
                "incomplete metadata",
                (
                    "A table map has no column names, and the schema history does not know the table, has a "
                    "different definition, or knows only a later one."
                ),
                "SET PERSIST binlog_row_metadata = 'FULL'; or `replicator task schema NAME --set-table FILE`.",
            ),
            "E2307": ("value not representable", "The output format cannot represent a value.", "See docs/formats.md."),
            "E2309": (
                "DDL not parsed",
                "The schema history cannot apply a DDL statement on a replicated table.",
                "Supply the table definition: see `replicator task schema`.",
            ),
            "E2310": (
                "transform does not match table",
                "A transform names a column that the table does not have, or cannot be applied to its type.",
                "Correct `transforms`.",
            ),
            "E2311": (
                "temporary disk space exhausted",
                "Rows of a large transaction are buffered in a temporary file, and the disk is full.",
                "Free disk space in TMPDIR. The task retries.",
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
    ),
    **_table(
        "sink",
        {
            "E3001": (
                "brokers not reachable",
                "No broker answers.",
                "Check `sink.bootstrap_servers`. The task retries.",
            ),
            "E3002": (
                "delivery failed",
                "A batch was not acknowledged in time.",
                "None required: the task resumes at the last acknowledged position.",
            ),
            "E3101": (
                "topic missing",
                "The topic does not exist, and the task is not allowed to create it.",
                "Create it, or set `sink.create_topics: true`.",
            ),
            "E3102": (
                "record too large",
                "A record exceeds the limit of the broker or of the task.",
                "Raise max.message.bytes and `sink.max_record_bytes`.",
            ),
            "E3103": (
                "not authorized",
                "The broker refuses the login, or an ACL denies an operation.",
                "Correct `sink.sasl`, or grant Write, Describe, Create, IdempotentWrite.",
            ),
            "E3104": ("producer fenced", "A later term has begun.", "None required: this instance becomes STANDBY."),
            "E3105": ("topic settings", "The settings of a topic allow data loss.", "Change them as shown."),
            "E3106": (
                "partition count changed",
                (
                    "The number of partitions differs from the recorded one. The order of records with the same key "
                    "is not guaranteed."
                ),
                "Set `sink.partitions_changed`, or restore the number of partitions.",
            ),
            "E3107": ("request refused", "The broker refuses the request.", "See the message of the broker."),
            "E3108": (
                "position not readable",
                "The position topic has a record that this version cannot read.",
                "Upgrade this process, or write a tombstone with the task's name as key to the position topic.",
            ),
            "E3109": (
                "position of an earlier task",
                "An earlier task of the same name has left a position at the sink, and this task has none.",
                "Set the start position: `source.start`, or `replicator task position set`.",
            ),
            "E3110": ("TLS failed", "No encrypted connection could be made.", "Check `sink.tls`."),
            "E3111": (
                "position of an unknown term",
                (
                    "The sink has a position of this task that was written in a term unknown to ZooKeeper: ZooKeeper "
                    "was restored to an earlier state, or a copy of it is in use."
                ),
                "`replicator task retry NAME --take-over`, if no other process runs the task.",
            ),
            "E3112": (
                "position of another installation",
                "The task has a position in Kafka under the id of another installation.",
                "Restore the former id in the znode `installation`.",
            ),
            "E3113": (
                "fenced repeatedly",
                "A process outside the task's election uses its transactional id.",
                "Find and stop the other producer; then `replicator task retry NAME`.",
            ),
            "E3114": (
                "positions disagree",
                ("The position at the sink is older than an acknowledged one, or cannot be compared with lastCommit."),
                "Set the correct position with `replicator task position set`.",
            ),
            "E3201": ("file not writable", "The output file cannot be written.", "Check path, permissions and space."),
            "E3202": (
                "file not allowed",
                "File sinks may only write to the directory that the process allows.",
                "Correct `sink.path`, or start the process with another --file-sink-directory.",
            ),
            "E3203": (
                "file of another writer",
                (
                    "The output file or its .position file has content that this task has not written. The file is "
                    "not changed."
                ),
                "Set `sink.path` to another file, or move this file and its .position file.",
            ),
            "E3301": (
                "schema registry not reachable",
                "No server of the schema registry answers.",
                "Check `sink.debezium.schema_registry`. The task retries.",
            ),
            "E3302": (
                "incompatible schema",
                "The new schema of a table violates the compatibility level of the subject.",
                "Lower the compatibility level, or register the schema manually; then retry the task.",
            ),
            "E3303": (
                "schema registry refused the request",
                "The server does not accept the schema or the request, or is not a schema registry.",
                "See its message, and check the path in `sink.debezium.schema_registry.url`.",
            ),
            "E3304": (
                "schema registry denied access",
                "The user name or password is wrong, or the account lacks permissions.",
                "Correct `sink.debezium.schema_registry`, or grant read and write access.",
            ),
            "E3305": (
                "schema not registered",
                "`auto_register` is false, and the subject does not have the schema.",
                "Register the schema that is shown.",
            ),
        },
    ),
    **_table(
        "zookeeper",
        {
            "E4001": (
                "ZooKeeper not reachable",
                "No connection to ZooKeeper could be made.",
                "Check `--zookeeper`. The process retries.",
            ),
            "E4002": (
                "request not confirmed",
                "ZooKeeper is not connected: the request was not sent, or its outcome is unknown.",
                "None required: the state is read and the request decided again.",
            ),
            "E4003": (
                "session expired",
                "The ZooKeeper session has expired and its ephemeral znodes are deleted.",
                "None required: the process joins the election again, at the end of the queue.",
            ),
            "E4004": ("znode missing", "The znode does not exist.", ""),
            "E4005": ("znode exists", "The znode already exists.", ""),
            "E4006": ("version conflict", "Another process has changed it.", "Read it again and repeat the change."),
            "E4007": (
                "not authorized",
                "A ZooKeeper ACL denies the operation.",
                "Check the ACLs and the credentials of this process.",
            ),
            "E4008": (
                "leadership lost",
                "The lease has ended or the election znode is gone. The task stops sending.",
                "None required: the process joins the election again, at the end of the queue.",
            ),
            "E4009": (
                "znode not readable",
                "A znode has content that no version of mysql-replicator has written.",
                "Write the configuration again through the Server.",
            ),
            "E4010": ("newer format", "A znode was written by a newer version.", "Upgrade this process."),
            "E4011": ("too large", "The request exceeds the ZooKeeper limit of 1 MB.", ""),
            "E4012": (
                "position behind",
                "The new position of a task is before its last commit. It was not written.",
                "See `replicator task position get NAME`; `replicator task fork` reads from an earlier position.",
            ),
        },
    ),
    **_table(
        "process",
        {
            "E5001": ("port in use", "Another process listens on the port.", "Choose another --listen address."),
            "E5002": ("host name in use", "Another Core has the same name.", "Start each with its own --host."),
            "E5003": ("no such task", "There is no task of this name.", "See `replicator task get`."),
            "E5004": ("task exists", "A task of this name exists.", "Use another name, or `task apply`."),
            "E5005": ("server not reachable", "The Server does not answer.", "Check --server / REPLICATOR_SERVER."),
            "E5006": ("not authorized", "The token is missing or wrong.", "Set REPLICATOR_TOKEN or --token-file."),
            "E5007": ("invalid state", "The task's state does not allow it.", "See `replicator task describe`."),
            "E5008": (
                "worker process ended",
                "The worker process ended without an error message, or did not run for 10 s and was killed.",
                "See the log. The worker is restarted.",
            ),
            "E5009": ("wait timed out", "The condition was not met in time.", ""),
            "E5010": ("state file", "The local state file cannot be used.", "Check the path given with --state."),
            "E5011": ("internal error", "An unexpected error occurred in mysql-replicator.", "Report it with the log."),
            "E5012": (
                "invalid address",
                "The process cannot listen on this address.",
                "Set --listen HOST:PORT to an address of this machine.",
            ),
            "E5013": ("no such route", "The API does not have this path or method.", "See /api/v1/openapi.json."),
            "E5014": (
                "schema history",
                "The schema history of a task cannot be read.",
                "Run the version that wrote it, or a newer one.",
            ),
            "E5015": ("task complete", "It has reached `source.until`.", "Delete the task, or remove `source.until`."),
            "E5016": (
                "not the failed transaction",
                "Only the transaction that a task has failed at can be skipped.",
                "`replicator task skip NAME --dry-run` shows that transaction.",
            ),
            "E5017": (
                "state file of another sink",
                "A state file belongs to one task and one sink, and this one belongs to another sink.",
                "Give the right file with --state.",
            ),
            "E5018": (
                "worker not started",
                "The host has no memory, too many processes or open files, or the Core's socket was removed.",
                "See the log of the Core; restart it if its socket under TMPDIR was removed.",
            ),
            "E5019": (
                "too few descriptors",
                "The limit of open files of this process is too low to lead a task.",
                "Raise it: LimitNOFILE= in the unit of the Core, or `ulimit -n`.",
            ),
            "E5020": (
                "foreign request",
                (
                    "The Host header of a request is not a name of this process, or a page of another site sent the "
                    "request."
                ),
                "Use the address that the process listens on, or start it with --allowed-host NAME.",
            ),
            "E5021": (
                "plain HTTP",
                "On a network address, tokens and contents would be sent unencrypted.",
                "Listen on 127.0.0.1 behind a proxy that terminates TLS, or allow it with --insecure-http.",
            ),
        },
    ),
}

_SCOPES: Final[dict[str, Scope]] = {
    "E1006": "host",  # its variables and files
    "E1012": "host",  # what its operator has set aside
    "E2311": "host",  # its disk
    "E3201": "host",
    "E3202": "host",  # the directory that its operator has named, or none
    "E5008": "host",  # again and again: too little memory
    "E5018": "host",
    "E2101": "either",  # accounts are bound to hosts: 'replicator'@'core-1'
    "E2102": "either",  # the CA file, or the server's certificate
    "E2104": "either",
    "E2105": "either",  # the key's file
    "E3103": "either",
    "E3110": "either",
    "E3304": "either",
}


def scope_of(code: str) -> Scope:
    """Where an error that fails a task comes from: "host", the Core's machine; "either", perhaps; else "task"."""
    return _SCOPES.get(code, "task")
