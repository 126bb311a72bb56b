"""What all tasks of a Core share, and what they ask of whoever makes workers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from core.checkpoints import CheckpointWriter
from core.histories import HistoryKeeper
from core.leases import LeaseKeeper
from core.pipes import PipeReader, Speaker
from core.protocol import ToWorker, WorkerSpec
from replicator.assembly.expiry_checks import ExpiryReport
from replicator.coordination.layout import Layout
from replicator.coordination.participant import Identity
from replicator.coordination.ports import Coordinator
from replicator.coordination.view import Validate


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
class Bench:
    coordinator: Coordinator
    layout: Layout
    identity: Identity
    launcher: Starter
    leases: LeaseKeeper
    writer: CheckpointWriter
    histories: HistoryKeeper
    pipes: PipeReader
    clock: Callable[[], float]
    validate: Validate
    reach: Callable[[str], dict[str, bool]]
    outlook: Callable[[str], ExpiryReport]
