"""Error codes of locks, barriers, queues and ids."""

from __future__ import annotations

from typing import Final

from replicator.codes.entry import Entry, table

_ZOOKEEPER: Final = table(
    "zookeeper",
    {
        "E4070": (
            "lock not free",
            "Another process had the lock, or was in front of this one, during the whole time of --wait.",
            "`replicator lock ls` shows holders and waiting processes. Repeat the command, or give a longer --wait.",
        ),
        "E4071": (
            "lock lost",
            "The lease of a lock, or of an item of a queue, has ended: the connection to ZooKeeper was lost for too "
            "long, this process was stopped, or the znode was deleted. Another process may have it now. The command "
            "that ran under it was ended.",
            "Check what the command has done, and run it again. A longer --session-timeout tolerates longer outages. "
            "Resources that compare fencing tokens refuse what a former holder still sends.",
        ),
        "E4072": (
            "shared lock cannot become exclusive",
            "A process that has a lock shared requests it exclusively. Two processes that do so would wait for each "
            "other.",
            "Release the lock first, or request it exclusively from the start.",
        ),
        "E4073": (
            "number of parties differs",
            "The parties of a barrier wait for different numbers of parties.",
            "Give the same --parties to all of them.",
        ),
        "E4074": (
            "barrier not complete",
            "Fewer parties than --parties came during the whole time of --wait.",
            "Start the missing parties, and repeat the command.",
        ),
        "E4075": (
            "queue full",
            "The queue has as many items as it may have. Nothing was added.",
            "Start consumers, or wait until they have removed items, and repeat the command.",
        ),
        "E4076": (
            "queue empty",
            "There was no item, or consumers had all of them, during the whole time of --wait.",
            "Repeat the command, or give a longer --wait.",
        ),
        "E4077": (
            "task is being edited",
            "`replicator task edit` of another person, or process, is open for this task. Its lock ends when the "
            "editor is closed, and 30 s after its process has ended.",
            "Repeat the command later, give --wait, or take the lock with --force: the other process then can't apply "
            "what it has.",
        ),
        "E4078": (
            "edit lock lost",
            "The lock to edit the task was taken by another process, or the Server had no contact with this process "
            "for 30 s. Nothing was written.",
            "`replicator task edit` again; the text is kept in the file that was printed.",
        ),
    },
)
_PROCESS: Final = table(
    "process",
    {
        "E5140": (
            "name not usable",
            "A lock, barrier, queue or series of ids cannot have this name.",
            "Use another name.",
        ),
        "E5141": (
            "item not usable",
            "An item of a queue is too large, or not text.",
            "Store the data elsewhere, and put its address into the queue.",
        ),
        "E5150": (
            "tasks cannot stop together",
            "A task of a cut-over does not run, has no position yet, has an end, or its snapshot is not complete. "
            "Nothing was changed.",
            "`replicator task cutover ... --dry-run` shows each task. Correct it, or leave the task out.",
        ),
        "E5151": (
            "cut-over failed",
            "A task of a cut-over failed, was deleted, or was ordered otherwise, or the cut-over was cancelled. The "
            "tasks that were stopped continue, unless --keep was given.",
            "`replicator task describe NAME` and `replicator task history NAME` show the cause. Repeat the command.",
        ),
        "E5152": (
            "cut-over not in time",
            "Not all tasks of a cut-over had stopped within its timeout. Those that were stopped continue, unless "
            "--keep was given.",
            "Wait until the tasks have caught up with their sources, or give a longer --timeout.",
        ),
        "E5153": (
            "no such cut-over",
            "There is no cut-over of this id. The newest 50 are kept.",
            "`replicator task cutover --list` shows them.",
        ),
        "E5154": (
            "cut-over is over",
            "A cut-over that has reached its positions, or has failed, can't be cancelled.",
            "None required: `replicator task resume NAME` resumes tasks that stay paused.",
        ),
        "E5160": (
            "source locked",
            "An operator has locked the source of the task for maintenance. The task is paused at a transaction "
            "boundary and continues by itself when the source is unlocked.",
            "None required. `replicator source ls` shows who has locked it, and why; `replicator source unlock` ends "
            "it.",
        ),
        "E5161": (
            "source locked already",
            "Another operator has locked the source.",
            "Wait until it is unlocked, or agree with that person. `replicator source ls` shows who it is.",
        ),
        "E5162": ("source not locked", "The source is not locked.", "See `replicator source ls`."),
        "E5163": (
            "no such source",
            "No task reads from this address, and it is not locked.",
            "Give the address as the tasks have it: `replicator source ls`.",
        ),
        "E5142": (
            "command not found",
            "The command that should run under a lock does not exist or cannot be executed.",
            "Check its path and its permissions.",
        ),
    },
)
CODES: Final[dict[str, Entry]] = _ZOOKEEPER | _PROCESS
