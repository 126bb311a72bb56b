"""State files of `replicator run`: one for each task and sink.

A position says what one sink has got. A run to the terminal must not move that of a run into Kafka, and a file whose
sink is not known is never taken for this one's.
"""

from __future__ import annotations

import hashlib
import socket
from pathlib import Path

from replicator.checkpoint.sqlite import Owner, SqliteStore
from replicator.config.mysql_sink import MySQLSink
from replicator.config.task import FileSink, KafkaSink, TaskConfig
from replicator.errors import ProcessError
from replicator.host.state_directory import state_directory
from replicator.mysql.hosts import candidates

_HASHED = 10
_ID = 12


def sink_of(config: TaskConfig) -> str:
    """Which sink a position is of: its kind, and where that is."""
    sink = config.sink
    if isinstance(sink, KafkaSink):
        return f"kafka: {', '.join(sorted(sink.bootstrap_servers))}, {sink.topic_template}"
    if isinstance(sink, FileSink):
        return f"file: {Path(sink.path).absolute()}"
    if isinstance(sink, MySQLSink):
        return f"{sink.type}: {', '.join(sorted(_servers(sink)))}, {sink.position_database}"
    return "stdout"


def _servers(sink: MySQLSink) -> tuple[str, ...]:
    return sink.hosts or tuple(f"{member.host}:{member.port}" for member in candidates(sink))


def open_state(path: Path | None, config: TaskConfig, *, chosen: bool) -> tuple[SqliteStore, str]:
    """The store, and the run's own id: 12 hexadecimal digits, the same for as long as the file is.

    Args:
        path: as the user gave it; None: the task's and sink's own.
        chosen: the sink is not the task's, but one of the command line.

    Raises:
        ProcessError: E5010, the file can't be used or is in use; E5017, it is of another sink, or there is none for
            this sink and one that may be meant.
    """
    sink = sink_of(config)
    where = path or _own(config.name, sink)
    if path is None and not where.exists() and not chosen:
        _refuse_others(where, config.name, sink)
    store = SqliteStore(where, config.name)
    try:
        owner = store.claim(Owner(_new_id(where), sink))
        if _kind(owner.sink) != _kind(sink):
            raise ProcessError(
                "E5017",
                f"the state file {where} belongs to another sink",
                found=owner.sink,
                wanted=sink,
                fix="Omit --state, or give another file.",
            )
        if owner.sink != sink:
            store.claim(Owner(owner.run, sink), again=True)
    except BaseException:
        store.close()
        raise
    return store, owner.run


def replica_name(run: str) -> str:
    """What the replica id of a run follows from: never from the task's name, whose own reader the server would throw
    out; and of this host, as a file may be copied."""
    return f"run/{run}/{socket.gethostname()}"


def _own(task: str, sink: str) -> Path:
    if "/" in task:
        raise ProcessError(
            "E5010", f"the task name '{task}' can't be used as a file name", fix="Give a file with --state."
        )
    kind = _kind(sink)
    name = kind if kind == "stdout" else f"{kind}-{hashlib.sha256(sink.encode()).hexdigest()[:_HASHED]}"
    return state_directory() / f"{task}.{name}.sqlite"


def _refuse_others(where: Path, task: str, sink: str) -> None:
    """A position that is not found is "now": rows would be lost because a broker was added to a list."""
    kind = _kind(sink)
    others = sorted(
        other
        for other in where.parent.glob("*.sqlite")
        if other.name == f"{task}.sqlite" or other.name.startswith(f"{task}.{kind}-")
    )
    if others:
        raise ProcessError(
            "E5017",
            f"'{task}' has a position for another sink, but none for this one",
            found=", ".join(map(str, others[:5])),
            wanted=f"a start position for {sink}",
            fix=f"--state {others[-1]} continues from that position; --state {where} begins as source.start says.",
        )


def _kind(sink: str) -> str:
    return sink.partition(":")[0]


def _new_id(where: Path) -> str:
    """The same for a file that is deleted and made again: its predecessor's position at the sink is then found."""
    return hashlib.sha256(f"{socket.gethostname()}\0{where.absolute()}".encode()).hexdigest()[:_ID]
