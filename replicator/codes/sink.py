"""Error codes of sinks other than databases: Kafka, files, schema registries."""

from __future__ import annotations

from typing import Final

from replicator.codes.entry import Entry, table

CODES: Final[dict[str, Entry]] = table(
    "sink",
    {
        "E3001": (
            "brokers not reachable",
            "No broker answers.",
            "Check that the brokers run, `sink.bootstrap_servers`, and firewalls. A running task retries.",
        ),
        "E3002": (
            "delivery failed",
            "A batch was not acknowledged in time.",
            "None required: the task resumes at the last acknowledged position.",
        ),
        "E3101": (
            "topic missing",
            "The topic does not exist, and the task is not allowed to create it.",
            "Create it as shown and `replicator task retry NAME`, or set `sink.create_topics: true`.",
        ),
        "E3102": (
            "record too large",
            "A record exceeds the limit of the broker or of the task.",
            "Raise max.message.bytes of the topic and `sink.max_record_bytes`, or lower the latter to what the "
            "broker takes "
            "and set `sink.oversize: dead_letter`.",
        ),
        "E3103": (
            "not authorized",
            "The broker refuses the login, or an ACL denies an operation.",
            "Correct `sink.sasl`, or grant Write, Describe, Create, IdempotentWrite; then `replicator task retry "
            "NAME`.",
        ),
        "E3104": ("producer fenced", "A later term has begun.", "None required: this instance becomes STANDBY."),
        "E3105": (
            "topic settings",
            "The settings of a topic allow data loss.",
            "Change the settings of the topic as shown.",
        ),
        "E3106": (
            "partition count changed",
            (
                "The number of partitions differs from the recorded one. The order of records with the same key "
                "is not guaranteed."
            ),
            "Set `sink.partitions_changed`, or restore the number of partitions.",
        ),
        "E3107": (
            "request refused",
            "The broker refuses the request.",
            "Remove the cause that the broker names; then `replicator task retry NAME`.",
        ),
        "E3108": (
            "position not readable",
            "The position topic has a record that this version cannot read.",
            "Upgrade this process; or `replicator task delete NAME --purge-topics`, which deletes the position topic, "
            "and create the task again.",
        ),
        "E3109": (
            "position of an earlier task",
            "An earlier task of the same name has left a position at the sink, and this task has none.",
            "Set the start position: `source.start`, or `replicator task position set NAME` (--latest begins at the "
            "end of the binlog); then `replicator task retry NAME`.",
        ),
        "E3110": ("TLS failed", "No encrypted connection could be made.", "Correct `sink.tls`."),
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
            "Set the correct position with `replicator task position set NAME`; then `replicator task retry NAME`.",
        ),
        "E3201": (
            "file not writable",
            "The output file cannot be written.",
            "Check `sink.path`, and permissions and free space on the host of the Core; then `replicator task retry "
            "NAME`.",
        ),
        "E3202": (
            "file not allowed",
            "File sinks may only write to the directory that the process allows.",
            "Correct `sink.path`, or start the Core with another --file-sink-directory.",
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
            "Check that the registry runs, and `sink.debezium.schema_registry`. A running task retries.",
        ),
        "E3302": (
            "incompatible schema",
            "The new schema of a table violates the compatibility level of the subject.",
            "Lower the compatibility level, or register the schema manually; then `replicator task retry NAME`.",
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
            "Register the schema that is shown; then `replicator task retry NAME`.",
        ),
    },
)
