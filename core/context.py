"""Objects shared by the tasks of one Core: coordinator, identity, threads, and the interface to worker processes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from core.checkpoint_writer import CheckpointWriter
from core.core_counters import CoreCounters
from core.lease_renewal import LeaseRenewal
from core.outgoing_watch import OutgoingWatch
from core.pipe_reader import PipeReader, Speaker
from core.protocol import ToWorker, WorkerSpec
from core.relays import Relays
from core.schema_history_service import SchemaHistoryService
from replicator.assembly.expiry_checks import ExpiryReport
from replicator.coordination.layout import Layout
from replicator.coordination.leadership.contender import Identity
from replicator.coordination.leadership.view import Validate
from replicator.coordination.ports import Coordinator


class WorkerProcess(Speaker, Protocol):
    """What `core.launcher.Worker` is to us; tests have plain objects."""

    @property
    def pid(self) -> int: ...

    @property
    def beat(self) -> float: ...

    def extend(self, deadline: float, wall_deadline: float = math.inf) -> None: ...

    def send(self, message: ToWorker) -> None: ...

    def kill(self) -> None: ...


class Starter(Protocol):
    """What `core.launcher.Launcher` is to us."""

    def start(self, spec: WorkerSpec, deadline: float) -> WorkerProcess: ...

    def close(self) -> None: ...


@dataclass
class CoreContext:
    coordinator: Coordinator
    kept: Coordinator
    """The same, for reads of what operators write: see `ViewReader`."""
    layout: Layout
    identity: Identity
    launcher: Starter
    leases: LeaseRenewal
    writer: CheckpointWriter
    schema_history: SchemaHistoryService
    pipes: PipeReader
    outgoing: OutgoingWatch
    relays: Relays
    counters: CoreCounters
    clock: Callable[[], float]
    validate: Validate
    reach: Callable[[str], dict[str, bool]]
    expiry_report: Callable[[str], ExpiryReport]
