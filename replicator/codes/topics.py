"""Error codes of sources that are topics of Kafka."""

from __future__ import annotations

from typing import Final

from replicator.codes.entry import Entry, table

CODES: Final[dict[str, Entry]] = table(
    "source",
    {
        "E2340": (
            "not possible with a source of topics",
            "An option, a sink or a command requires a source that is a database server.",
            "See `replicator docs kafka-source`.",
        ),
        "E2341": (
            "broker of the source not reachable",
            "No broker answers, or the connection to one was lost.",
            "Check that the brokers run, and `source.bootstrap_servers`. A running task retries.",
        ),
        "E2342": (
            "broker of the source refuses access",
            "The login, the certificate or the privileges are not accepted.",
            "Correct `source.sasl` or `source.tls`, or grant Read and Describe on the topics; then `replicator task "
            "retry "
            "NAME`.",
        ),
        "E2343": (
            "topic of the source missing",
            "No topic matches source.topics, or one that was read is no longer there.",
            "Correct source.topics. For a topic that was deleted, see `replicator docs kafka-source`.",
        ),
        "E2344": (
            "topic changed",
            "A topic was deleted and created again, or its number of partitions has changed: keys are in others now.",
            "Copy the tables again, then `replicator task position set NAME --offsets TOPIC:OFFSET[,OFFSET...]`.",
        ),
        "E2345": (
            "records deleted before they were read",
            "The retention of the topic, or a deletion of records, has passed the task's position.",
            "Copy the tables again, then `replicator task position set NAME --offsets TOPIC:OFFSET[,OFFSET...]`.",
        ),
        "E2346": (
            "position after the end of the topic",
            "The topic has lost records that were applied: an unclean leader election, or a restored cluster.",
            "Compare the tables, then `replicator task position set NAME --offsets TOPIC:OFFSET[,OFFSET...]`.",
        ),
        "E2347": (
            "record batch not readable",
            "A record batch is corrupt, or in a format that is not known.",
            "Check the disks and the release of the brokers; `kafka-dump-log.sh` shows a damaged batch.",
        ),
        "E2348": (
            "record not in the source's format",
            "A record is not JSON of the configured format, or its row is flattened or a reference.",
            "Set source.format, or exclude the topic with source.topics.",
        ),
        "E2349": (
            "operation not supported",
            "A record is of an operation that is not a change of one row.",
            "Execute it at the target, then `replicator task position set NAME --offsets TOPIC:OFFSET[,OFFSET...]` "
            "behind "
            "the record.",
        ),
        "E2350": (
            "value does not fit the target's column",
            "A value of a record can't be stored in the column without a change.",
            "Make the column's definition the same as at the source, and check the options in `source.debezium`.",
        ),
        "E2351": (
            "column missing at the target",
            "A record has a column that the target's table lacks: it was added at the source.",
            "Add the column to the target's table, then `replicator task retry NAME`.",
        ),
        "E2352": (
            "table not suitable for topics",
            "Records of topics can't be applied to this table without a loss.",
            "See `replicator docs kafka-source tables`.",
        ),
        "E2353": (
            "start offsets not usable",
            "source.start or an ordered position does not fit the topics.",
            "Give the offset of the next record of each partition, from partition 0 on, for each topic.",
        ),
        "E2354": (
            "order of changes not known",
            "Changes of one row, or of one unique value, may be in several partitions or topics.",
            "See `replicator docs kafka-source partitions`.",
        ),
        "E2355": (
            "topic is compacted",
            "Compaction removes the records of deletes, and leaves tombstones, which do not name the table.",
            "Set cleanup.policy=delete for the topic, copy the tables again, then `replicator task retry NAME`.",
        ),
    },
)
