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
)
