"""The messages between a Core's agent and its worker processes, over one socket per worker.

The agent holds session and lease; a worker runs the data path of one task under a term. The end of the lease stands in
shared memory (`Launcher`), everything else is one of these messages. A closed pipe means that the other side is gone:
the worker stops at once, the agent counts it as dead.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import msgspec

from replicator.coordination.addresses.choice import AddressPlan
from replicator.errors import ReplicatorError
from replicator.model.activity import Activity
from replicator.model.behind import Behind
from replicator.model.checkpoint import Checkpoint
from replicator.model.lag import LagFacts
from replicator.model.position import Position
from replicator.model.quarantine import TaskOrders
from replicator.model.retrying import Blocked
from replicator.model.schema_history import SchemaRecord


class WorkerSpec(msgspec.Struct, frozen=True):
    """Everything a worker is started with. config: the validated task configuration as plain data (references to
    secrets, never secrets); checkpoint: of lastCommit, read after this term was won; clean: the checkpoint was written
    by a term that released on purpose; server_id: our replica id, 0: as the task's configuration or name says; orders:
    of operators, of tables in quarantine; installation, previous: see `Term`; outgoing: the cluster's list of outgoing
    addresses; addresses: of the address book, of which `config` has host and port; until: the position at which the
    worker drains by itself, for a cut-over."""

    task: str
    uid: str
    epoch: int
    host: str
    config: dict[str, Any]
    checkpoint: Checkpoint | None = None
    server_id: int = 0
    orders: TaskOrders = TaskOrders()
    installation: str = ""
    previous: int | None = None
    purged: tuple[str, ...] = ()
    outgoing: tuple[str, ...] | None = None
    addresses: tuple[AddressPlan, ...] = ()
    until: Position | None = None


class ShareSource(msgspec.Struct, frozen=True, tag=True):
    """Worker -> agent, again while it has no answer: this task has caught up, and would share its dump connection.
    key, where, replica: see `Terms` (replicator/source/shared)."""

    key: str
    where: str
    replica: str


class SourceShared(msgspec.Struct, frozen=True, tag=True):
    """Agent -> worker: a relay reads the stream of this key; the name of its socket."""

    key: str
    name: str


class RelaySpec(msgspec.Struct, frozen=True):
    """What a relay is started with. name: of its socket; config, installation: of one of the tasks, for login and
    TLS; host: label of the Core; outgoing: the cluster's list of outgoing addresses."""

    name: str
    stream: ShareSource
    config: dict[str, Any]
    installation: str
    host: str
    outgoing: tuple[str, ...] | None = None


class Lease(NamedTuple):
    """The end of a lease in shared memory, two C doubles: seconds of the lease clock and of the wall clock."""

    deadline: Any
    wall_deadline: Any


class Drain(msgspec.Struct, frozen=True, tag=True):
    """Agent -> worker: stop reading, finish at a transaction boundary, commit, answer `Drained`, exit 0."""


class Saved(msgspec.Struct, frozen=True, tag=True):
    """Agent -> worker: the checkpoint `number` (or a later one) is in lastCommit."""

    number: int


class OutgoingChanged(msgspec.Struct, frozen=True, tag=True):
    """Agent -> worker: the cluster's list of outgoing addresses is another one now. It holds for connections that are
    opened from now on. None: everything is allowed."""

    entries: tuple[str, ...] | None


class SchemaHistoryAnswer(msgspec.Struct, frozen=True, tag=True):
    """Agent -> worker: the answer to the `LoadSchemaHistory` or `AppendSchemaHistory` of this number; `error`: why it
    could not be done."""

    number: int
    records: tuple[SchemaRecord, ...] = ()
    error: ReplicatorError | None = None


class Logged(msgspec.Struct, frozen=True, tag=True):
    """Worker -> agent: a line that the worker has logged, for the lines that the Core keeps."""

    line: str


class ProposeAddress(msgspec.Struct, frozen=True, tag=True):
    """Agent -> worker: check this address of the book beside the work, and answer `AddressPassed` or `AddressRefused`;
    "": there is nothing to check."""

    section: str
    address: str


class AddressRecorded(msgspec.Struct, frozen=True, tag=True):
    """Agent -> worker: the answer to `AddressAccepted`, when it is durable."""

    section: str


class AddressPassed(msgspec.Struct, frozen=True, tag=True):
    """Worker -> agent: the proposed address has passed the checks; a worker that starts there makes them again."""

    section: str
    address: str


class AddressRefused(msgspec.Struct, frozen=True, tag=True):
    """Worker -> agent: the address has not passed the checks. `ended`: the worker was to connect to it, and this is its
    last word before exit 0."""

    section: str
    address: str
    error: dict[str, str]
    ended: bool = False


class AddressAccepted(msgspec.Struct, frozen=True, tag=True):
    """Worker -> agent: the address has passed the checks at the position at which the worker begins. The agent records
    it and answers `AddressRecorded`; until then nothing is delivered. `cluster`: see `AcceptedAddress`."""

    section: str
    address: str
    cluster: str = ""


class LoadSchemaHistory(msgspec.Struct, frozen=True, tag=True):
    """Worker -> agent: read the task's schema history, answer `SchemaHistoryAnswer`."""

    number: int


class AppendSchemaHistory(msgspec.Struct, frozen=True, tag=True):
    """Worker -> agent: append this to the task's schema history, answer `SchemaHistoryAnswer` when it is durable."""

    number: int
    record: SchemaRecord


class Progress(msgspec.Struct, frozen=True, tag=True):
    """Worker -> agent, about five times a second while something changes, and at once when `urgent`: everything up to
    `checkpoint` is delivered. The agent writes it to lastCommit, paced by `checkpoint_interval_ms`, at once when
    `urgent`, and answers `Saved(number)`, unless it is there already. rows, transactions and bytes count what this
    worker delivered since it started; pieces: acknowledged ones during a drain;
    retention_headroom_s: until the source may purge what we still need."""

    number: int
    checkpoint: Checkpoint
    urgent: bool = False
    rows: int = 0
    transactions: int = 0
    bytes: int = 0
    last_event_ms: int = 0
    retention_headroom_s: float | None = None
    pieces: int = 0


class Status(msgspec.Struct, frozen=True, tag=True):
    """Worker -> agent, twice a second while something waits, else when it changes and every few seconds. `blocked`: a
    side that does not answer; `flowing`: data flows, or would if there were any; `shared`: the stream is one that tasks
    of this Core share; `activity`: of this worker; `behind`: what the task has
    still to deliver of the source's log."""

    lag: LagFacts
    blocked: Blocked | None = None
    flowing: bool = False
    shared: bool = False
    activity: Activity = Activity()
    behind: Behind = Behind()


class Streaming(msgspec.Struct, frozen=True, tag=True):
    """Worker -> agent: sink fenced, position known, stream open. Sent again after each reconnect."""

    position: str


class Waiting(msgspec.Struct, frozen=True, tag=True):
    """Worker -> agent: a transient error; it tries again by itself. `error` is ReplicatorError.to_dict()."""

    error: dict[str, str]


class Failed(msgspec.Struct, frozen=True, tag=True):
    """Worker -> agent: stopped for good; `fenced` when another term or the end of the lease was the reason; `epoch`: of
    the position at the sink, where a term that ZooKeeper does not know is the reason."""

    error: dict[str, str]
    fenced: bool = False
    epoch: int = 0


class Drained(msgspec.Struct, frozen=True, tag=True):
    """Worker -> agent: everything delivered up to `checkpoint`, the last word before exit 0. None: nothing ever was."""

    checkpoint: Checkpoint | None


class SecretChanged(msgspec.Struct, frozen=True, tag=True):
    """Worker -> agent: the login was refused with `error`, and its secret is another one by now. The last word before
    exit 0: another worker under the same term reads it."""

    error: dict[str, str]


ToWorker: TypeAlias = (
    Drain | Saved | SchemaHistoryAnswer | SourceShared | ProposeAddress | AddressRecorded | OutgoingChanged
)
AboutAddress: TypeAlias = AddressPassed | AddressRefused | AddressAccepted
FromWorker: TypeAlias = (
    Progress
    | Status
    | Streaming
    | Waiting
    | Failed
    | Drained
    | SecretChanged
    | ShareSource
    | Logged
    | LoadSchemaHistory
    | AppendSchemaHistory
    | AboutAddress
)
