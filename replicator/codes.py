"""Every error code, once. docs/errors.md is made from this table; a code that is not here can't be raised."""

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
            "E1001": ("not readable", "The text is not YAML or JSON.", "Correct the syntax at the line shown."),
            "E1002": (
                "unknown key",
                "A key that no model knows; unknown keys are never ignored.",
                "Remove or correct it.",
            ),
            "E1003": ("wrong value", "A value of the wrong type or out of range.", "See `replicator explain task`."),
            "E1004": ("missing key", "A required key is absent.", "Add it."),
            "E1005": (
                "literal secret",
                "Configurations hold references to secrets, never secrets.",
                "Use env:NAME or file:/path.",
            ),
            "E1006": (
                "secret not resolvable",
                "The reference points to nothing that can be used.",
                "Set the variable or create the file.",
            ),
            "E1007": ("name not usable", "Kafka or ZooKeeper can't carry this name.", "Choose another name."),
            "E1008": ("too large", "The text is larger or deeper than we accept.", "Shorten it."),
            "E1009": ("identity changed", "A running task can't change what its position means.", "Make a new task."),
            "E1010": ("filter not readable", "A filter is not an expression of docs/transforms.md.", "Correct it."),
            "E1011": ("transforms do not fit", "They name what the source's tables do not have.", "Correct them."),
            "E1012": (
                "secret not allowed",
                "The reference, a file of `tls` or a command is not among what the host's operator has set aside for "
                "tasks.",
                "Put it there, or start the process with --secrets-directory, --secrets-env-prefix or "
                "--commands-directory.",
            ),
            "E1013": (
                "state in a configuration",
                "Which tables are in quarantine is ordered by commands, whatever file is applied again.",
                "Take the key away; `replicator task quarantine NAME DATABASE.TABLE` does it, with --release it ends.",
            ),
        },
    ),
    **_table(
        "source",
        {
            "E2001": (
                "not reachable",
                "No connection to the database server.",
                "Check host, port and firewall; it is tried again.",
            ),
            "E2002": ("connection lost", "The stream ended or stalled.", "Nothing: it reconnects from its position."),
            "E2101": ("login refused", "User or password is wrong.", "Correct `source.user` / `source.password`."),
            "E2102": ("TLS refused", "No encrypted connection could be made.", "Check `source.tls`."),
            "E2104": ("grant missing", "The account lacks a privilege.", "GRANT it as shown."),
            "E2105": (
                "password in clear",
                "The server asks for the password as it is, or under a key of its own, over a connection that is not "
                "verified.",
                "Add `source.tls` with the authority of the server's certificate and without `insecure`, or, without "
                "TLS, `source.server_public_key`.",
            ),
            "E2201": ("binlog off", "log_bin is OFF: there is nothing to read.", "Start the server with log_bin."),
            "E2202": ("binlog_format", "Only ROW events carry rows.", "SET PERSIST binlog_format = 'ROW';"),
            "E2203": ("row image", "Only FULL images carry whole rows.", "SET PERSIST binlog_row_image = 'FULL';"),
            "E2204": (
                "release too old",
                "The binlog of releases before MySQL 5.5 and MariaDB 10.2 is not known.",
                "Upgrade the server.",
            ),
            "E2205": ("table missing", "A configured table is not in the database.", "Correct `source.tables`."),
            "E2206": (
                "position purged",
                "The binlog that we need is gone; rows would be lost.",
                "Start a new task or re-snapshot.",
            ),
            "E2207": (
                "server id taken",
                "Another replica reads with our server id.",
                "Set `source.server_id` to a free one.",
            ),
            "E2208": (
                "binlog retention",
                "The server deletes binlogs too early.",
                "SET PERSIST binlog_expire_logs_seconds = 604800;",
            ),
            "E2209": ("position not valid", "The server does not know this position.", "Check `source.start`."),
            "E2210": ("GTID", "GTID settings do not fit the task.", "SET PERSIST gtid_mode = ON;"),
            "E2211": (
                "server error",
                "The server ended the stream with an error of its own.",
                "See the server's message.",
            ),
            "E2212": ("version", "Server version or flavour is not the configured one.", "Set `source.type`."),
            "E2214": ("no primary key", "Rows without a key have no order guarantee.", "Add a primary key."),
            "E2216": (
                "tables in change",
                "DDL falls into each reading of the tables' definitions.",
                "It is tried again; pause schema changes while the task starts.",
            ),
            "E2217": (
                "session renewed",
                "The schema history of a task has grown by many statements, and the next session makes it small.",
                "Nothing: the task goes on by itself.",
            ),
            "E2218": (
                "another server's binlog",
                "The position is of the binlog of another server, or of one that has been deleted since (RESET).",
                "Point the task back at that server, or `replicator task position set` to a place of this one.",
            ),
            "E2301": (
                "event not understood",
                "An event that carries rows or meaning and that we can't read.",
                "See docs/errors.md.",
            ),
            "E2302": ("damaged event", "Checksum or structure is wrong.", "Check the source's disk; re-snapshot."),
            "E2303": (
                "statement-format change",
                "Rows were changed by a statement, not by row events.",
                "SET binlog_format = 'ROW' in that session.",
            ),
            "E2304": (
                "row image not full",
                "A row event without all columns, or, with row_image: accept_partial, without those that are needed.",
                "SET binlog_row_image = 'FULL' in that session.",
            ),
            "E2305": ("incident", "The server itself says that changes are missing.", "Re-snapshot the tables."),
            "E2306": (
                "metadata not full",
                "A table map without column names, of a table that the schema history does not know, or that differs, "
                "or whose definition is only known behind a later change.",
                "SET PERSIST binlog_row_metadata = 'FULL'; or `replicator task schema NAME --set-table FILE`.",
            ),
            "E2307": ("value not representable", "A value that the format can't hold.", "See docs/formats.md."),
            "E2309": (
                "statement not understood",
                "DDL on a replicated table that the schema history can't take in.",
                "`replicator task schema` shows how to tell it the table.",
            ),
            "E2310": (
                "transform does not fit",
                "A transform names what the table does not have, or asks for what its columns can't give.",
                "Correct `transforms`.",
            ),
            "E2311": (
                "no room for rows that wait",
                "Rows of a large transaction wait for its end in a temporary file, and the disk is full.",
                "Make room in TMPDIR; it is tried again.",
            ),
            "E2312": (
                "prepared rows are gone",
                "An XA transaction is committed whose rows are in binlog that can't be read any more.",
                "Re-snapshot the tables that it changed, and make a new task behind it.",
            ),
            "E2313": (
                "place inside a transaction",
                "A part of the transaction was delivered from another server's log, under another configuration or as "
                "messages of Canal.",
                "Apply the configuration of then, or `replicator task position set NAME --transaction-start`.",
            ),
        },
    ),
    **_table(
        "sink",
        {
            "E3001": ("not reachable", "No broker answers.", "Check `sink.bootstrap_servers`; it is tried again."),
            "E3002": (
                "delivery failed",
                "A batch was not acknowledged in time.",
                "Nothing: it resumes from the last acknowledged position.",
            ),
            "E3101": (
                "topic missing",
                "The topic does not exist and may not be created.",
                "Create it, or set `sink.create_topics: true`.",
            ),
            "E3102": (
                "record too large",
                "One record is over the broker's or our limit.",
                "Raise max.message.bytes and `sink.max_record_bytes`.",
            ),
            "E3103": (
                "not allowed",
                "The broker does not let us in, or an ACL of it refuses us.",
                "Correct `sink.sasl`, or grant Write, Describe, Create, IdempotentWrite.",
            ),
            "E3104": (
                "fenced",
                "A later term writes with our transactional id.",
                "Nothing: this instance becomes STANDBY.",
            ),
            "E3105": ("topic settings", "A topic has settings that lose data.", "Change them as shown."),
            "E3106": (
                "partitions changed",
                "The number of partitions is not the recorded one; order per key is at risk.",
                "Set `sink.partitions_changed`, or make the topic as it was.",
            ),
            "E3107": ("refused", "The broker refuses the request.", "See the broker's message."),
            "E3108": (
                "position not understood",
                "The position topic holds a record that this version can't read.",
                "Upgrade this process, or write a tombstone with the task's name as key to the position topic.",
            ),
            "E3109": (
                "position of an earlier task",
                "A task of the same name was here before and has left a position; this one has none.",
                "Say where to begin: `source.start`, or `replicator task position set`.",
            ),
            "E3110": ("TLS refused", "No encrypted connection could be made.", "Check `sink.tls`."),
            "E3111": (
                "position of an unknown term",
                "The sink holds a position of this task that no term in ZooKeeper has written: ZooKeeper was put back "
                "to an earlier state, or a copy of it is in use elsewhere.",
                "`replicator task retry NAME --take-over`, where nobody else runs the task.",
            ),
            "E3112": (
                "another installation's id",
                "The task has a position in Kafka under the id of another installation.",
                "Give the node `installation` in ZooKeeper its former id back.",
            ),
            "E3113": (
                "fenced again and again",
                "A process that is no contender in the task's election writes with its transactional id.",
                "Find and stop the other producer; then `replicator task retry NAME`.",
            ),
            "E3114": (
                "positions disagree",
                "The sink holds an older position than it has acknowledged, or lastCommit's can't be compared to it.",
                "`replicator task position set` with the one that is right.",
            ),
            "E3201": ("file not writable", "The output file can't be written.", "Check path, rights and space."),
            "E3202": (
                "file not allowed",
                "File sinks write only below the directory that the host's operator has named.",
                "Correct `sink.path`, or start the process with another --file-sink-directory.",
            ),
            "E3203": (
                "file not ours",
                "The output file, or its .position, has content that this task has not written; it is left as it is.",
                "Give `sink.path` another file, or move this one and its .position away.",
            ),
            "E3301": (
                "schema registry not reachable",
                "No server of the schema registry answers, or it has no answer now.",
                "Check `sink.debezium.schema_registry`; it is tried again.",
            ),
            "E3302": (
                "schema not compatible",
                "The new schema of a table breaks the rule that the subject has for its versions.",
                "Weaken the subject's compatibility, or register the schema by hand; then start the task again.",
            ),
            "E3303": (
                "schema registry refuses",
                "It does not take the schema or the request, or it is none.",
                "See its message, and check the path in `sink.debezium.schema_registry.url`.",
            ),
            "E3304": (
                "not let into the schema registry",
                "User or password is wrong, or the account may not do that.",
                "Correct `sink.debezium.schema_registry`, or grant it read and write.",
            ),
            "E3305": (
                "schema not registered",
                "`auto_register` is false, and the subject has no such schema.",
                "Register the schema that is shown.",
            ),
        },
    ),
    **_table(
        "zookeeper",
        {
            "E4001": ("not reachable", "No connection to ZooKeeper.", "Check `--zookeeper`; it is tried again."),
            "E4002": (
                "request refused",
                "Not CONNECTED: the request was not sent, or its outcome is unknown.",
                "Nothing: it is decided again.",
            ),
            "E4003": (
                "session lost",
                "The session expired; ephemeral nodes are gone.",
                "Nothing: it joins again, at the back.",
            ),
            "E4004": ("no such node", "The znode is not there.", ""),
            "E4005": ("node exists", "The znode is there already.", ""),
            "E4006": ("version conflict", "Another process wrote first.", "Read again and repeat the change."),
            "E4007": ("not allowed", "An ACL refuses us.", "Check the ACLs and our credentials."),
            "E4008": (
                "leadership lost",
                "Lease or own znode is gone; nothing more is emitted.",
                "Nothing: it joins again, at the back.",
            ),
            "E4009": (
                "content not understood",
                "A znode holds something that no version of ours wrote.",
                "Write the configuration again through the Server.",
            ),
            "E4010": ("newer format", "A znode was written by a newer version.", "Upgrade this process."),
            "E4011": ("too large", "Over ZooKeeper's limit of 1 MB.", ""),
            "E4012": (
                "position behind",
                "The new position of a task is before its last commit; nothing was written.",
                "See `replicator task position get NAME`; `replicator task fork` reads from an earlier position.",
            ),
        },
    ),
    **_table(
        "process",
        {
            "E5001": ("port in use", "Another process listens there.", "Choose another --listen address."),
            "E5002": ("host name taken", "Another living Core has this name.", "Give each its own --host."),
            "E5003": ("no such task", "No task of this name.", "See `replicator task get`."),
            "E5004": (
                "task exists",
                "A task of this name exists.",
                "Use another name, or change it with `task apply`.",
            ),
            "E5005": ("server not reachable", "The Server does not answer.", "Check --server / REPLICATOR_SERVER."),
            "E5006": ("not authorised", "Token missing or wrong.", "Set REPLICATOR_TOKEN or --token-file."),
            "E5007": ("not possible now", "The task's state does not allow it.", "See `replicator task describe`."),
            "E5008": (
                "worker died",
                "The worker process ended without saying why, or did not run for 10 s and was killed.",
                "See the log; it is started again.",
            ),
            "E5009": ("wait timed out", "The condition was not met in time.", ""),
            "E5010": ("state file", "The local state file can't be used.", "Check the path given with --state."),
            "E5011": ("internal error", "A fault of ours.", "Report it with the log."),
            "E5012": (
                "address not usable",
                "Nothing can listen on this address.",
                "Give --listen HOST:PORT with an address of this machine.",
            ),
            "E5013": ("no such route", "The API has no such path or method.", "See /api/v1/openapi.json."),
            "E5014": (
                "schema history",
                "The schema history of a task can't be read.",
                "Run the version that wrote it, or a newer one.",
            ),
            "E5015": (
                "nothing more to do",
                "The task has reached `source.until`.",
                "Delete it, or take `source.until` away.",
            ),
            "E5016": (
                "not the failed transaction",
                "Only the transaction that a task has failed at can be skipped.",
                "`replicator task skip NAME --dry-run` shows which one that is.",
            ),
            "E5017": (
                "state of another sink",
                "A position says what one sink has got; a state file is of a task and a sink.",
                "Give the file that is meant with --state.",
            ),
            "E5018": (
                "worker not started",
                "This host can't start a process: no memory, too many processes, or the Core's socket was removed.",
                "See the log of the Core; restart it if its socket under TMPDIR was removed.",
            ),
            "E5020": (
                "request from elsewhere",
                "The Host of a request is not one of ours, or a foreign web page sent it.",
                "Use the address that the process listens on, or start it with --allowed-host NAME.",
            ),
            "E5021": (
                "plain HTTP",
                "Off the loopback address tokens and contents would go over the network unencrypted.",
                "Listen on 127.0.0.1 behind a proxy that speaks TLS, or accept it with --insecure-http.",
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
