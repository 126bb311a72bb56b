"""Error codes of backups, restores and support bundles."""

from __future__ import annotations

from typing import Final

from replicator.codes.entry import Entry, table

CODES: Final[dict[str, Entry]] = table(
    "backup",
    {
        "E5100": (
            "file not usable",
            "A file of `replicator cluster` or `replicator bundle` cannot be read or written.",
            "Correct the path or its permissions, or free space on the disk.",
        ),
        "E5101": (
            "changed while it was read",
            "The configuration or the table definitions of a task changed during each attempt to read it.",
            "Repeat the command.",
        ),
        "E5102": (
            "not a backup",
            "The file is not a backup of `replicator cluster backup`, is damaged, or has a newer format.",
            "Use another backup: `replicator cluster backup --verify FILE` checks one.",
        ),
        "E5103": (
            "restore would overwrite",
            "A task of the backup exists already.",
            "Give --task for the tasks that are missing, or --overwrite to replace those that exist.",
        ),
        "E5104": (
            "another installation",
            "The tree in ZooKeeper has another installation id than the backup, and has tasks: their positions in "
            "Kafka are stored under that id.",
            "Restore into an empty root with --root, or take configurations over with `replicator task apply`.",
        ),
        "E5105": (
            "task is being restored",
            "`replicator cluster restore` has not completed the task. No Core runs it until then.",
            "Wait until the restore has ended. If it was interrupted, run it again with the same file.",
        ),
        "E5110": (
            "no such process",
            "No Core, Server or Monitor with this id is online: it has ended or has lost its ZooKeeper session.",
            "`replicator bundle` names the processes that are online; look at the log on the host of the others.",
        ),
        "E5111": (
            "no log lines in time",
            "A process did not answer a request for its log lines, or too many are being answered.",
            "Repeat the command; if it fails again, look at the log on that host.",
        ),
    },
)
