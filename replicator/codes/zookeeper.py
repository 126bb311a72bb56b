"""Error codes of ZooKeeper."""

from __future__ import annotations

from typing import Final

from replicator.codes.entry import Entry, table

CODES: Final[dict[str, Entry]] = table(
    "zookeeper",
    {
        "E4001": (
            "ZooKeeper not reachable",
            "No connection to ZooKeeper could be made.",
            "Check that a majority of the ZooKeeper servers runs and is reachable from this host, and --zookeeper. The "
            "process retries.",
        ),
        "E4002": (
            "request not confirmed",
            "ZooKeeper is not connected: the request was not sent, or its outcome is unknown.",
            "A process repeats the request itself. After a command, see `replicator task describe NAME`, and repeat "
            "the "
            "command if it was not carried out.",
        ),
        "E4003": (
            "session expired",
            "The ZooKeeper session has expired and its ephemeral znodes are deleted.",
            "None required: the process joins the election again, at the end of the queue.",
        ),
        "E4004": (
            "znode missing",
            "The znode does not exist.",
            "Repeat the command. A znode that is missing again was deleted manually, or the root znode is another one: "
            "check --root.",
        ),
        "E4005": (
            "znode exists",
            "The znode already exists.",
            "Repeat the command: another process has made the same change in the meantime.",
        ),
        "E4006": (
            "version conflict",
            "Another process has changed it.",
            "Read it again, and repeat the change if it is still wanted.",
        ),
        "E4007": (
            "not authorized",
            "A ZooKeeper ACL denies the operation.",
            "Allow all operations below the root znode (`getAcl` and `setAcl` of zkCli.sh): processes connect without "
            "credentials.",
        ),
        "E4008": (
            "leadership lost",
            "The lease has ended or the election znode is gone. The task stops sending.",
            "None required: the process joins the election again, at the end of the queue.",
        ),
        "E4009": (
            "znode not readable",
            "A znode has content that no version of mysql-replicator has written.",
            "Delete the znode that is named if another program has created it. A configuration is written again by "
            "`replicator task apply -f FILE`, a task by `replicator cluster restore FILE --task NAME --overwrite`.",
        ),
        "E4010": (
            "newer format",
            "A znode was written by a newer version.",
            "Upgrade this process to the version that the other processes have. See `replicator docs upgrade`.",
        ),
        "E4011": (
            "too large",
            "The request exceeds the ZooKeeper limit of 1 MB.",
            "Shorten the configuration: patterns instead of lists of tables, shorter filters.",
        ),
        "E4012": (
            "position behind",
            "The new position of a task is before its last commit. It was not written.",
            "See `replicator task position get NAME`; `replicator task fork` reads from an earlier position.",
        ),
    },
)
