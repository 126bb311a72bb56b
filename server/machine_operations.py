"""Operations on machines: which of them are expected. Drains are those of `group_operations`."""

from __future__ import annotations

import contextlib
import unicodedata
from typing import Final

from replicator.coordination.groups.drained import Drained, is_drained
from replicator.coordination.layout import Layout
from replicator.coordination.machines.expected import ExpectedMachines
from replicator.coordination.machines.machines import Machines
from replicator.coordination.machines.stopped import StoppedCores
from replicator.coordination.ports import Coordinator
from replicator.errors import ConfigError, CoordinationError, ProcessError
from server.machine_responses import Machine, MachineEntry, machine
from server.task_operations import TaskOperations

MOST_NAME: Final = 200


class MachineOperations:
    """Thread-safe. Every method raises NotConnected while ZooKeeper is away."""

    def __init__(self, coordinator: Coordinator, layout: Layout, tasks: TaskOperations) -> None:
        self._tasks = tasks
        self._online = (Machines(coordinator, layout), Machines(coordinator, layout, agents=True))
        self._expected = ExpectedMachines(coordinator, layout)
        self._ends = (StoppedCores(coordinator, layout), StoppedCores(coordinator, layout, agents=True))
        self._drained = Drained(coordinator, layout)

    def machines(self, max_age_s: float = 0.0) -> list[MachineEntry]:
        """Sorted by name."""
        known, drained = self._tasks.known_machines(max_age_s), self._drained.list()
        return [machine(each, draining=is_drained(each.name, drained)) for each in known]

    def machine(self, name: str, max_age_s: float = 0.0) -> Machine:
        """Raises ProcessError E5123."""
        entries = self.machines(max_age_s)
        for entry in entries:
            if entry.name == name:
                return Machine(**{field: getattr(entry, field) for field in MachineEntry.__struct_fields__})
        raise _no_machine(name, [entry.name for entry in entries])

    def expect(self, name: str, by: str, reason: str, version: int | None) -> Machine:
        """Raises ConfigError E1003, VersionConflict E4006."""
        self._expected.expect(_checked(name), by, reason, version)
        return self.machine(name)

    def forget(self, name: str, version: int | None) -> None:
        """With the record of its end. Raises ProcessError E5123, E5124; VersionConflict E4006."""
        if any(machines.read(name) is not None for machines in self._online):
            raise ProcessError(
                "E5124", f"the machine '{name}' is online", fix="Stop its Core or agent first, then forget the machine."
            )
        ended = [ends for ends in self._ends if name in ends.list()]
        if not self._expected.forget(name, version) and not ended:
            raise _no_machine(name, list(self._expected.list()))
        for ends in ended:
            # In a tree that an earlier release has secured the Server may not: it is shown for a day then.
            with contextlib.suppress(CoordinationError):
                ends.forget(name)


def _checked(name: str) -> str:
    wanted = f"1 to {MOST_NAME} characters: the --host of its Core or agent, without ~"
    if not name.strip() or len(name) > MOST_NAME or "~" in name:
        raise ConfigError("E1003", "this can't be the name of a machine", found=repr(name[:60]), wanted=wanted)
    if any(unicodedata.category(char).startswith("C") for char in name):
        raise ConfigError("E1003", "the name contains control characters", found=ascii(name[:60]), wanted=wanted)
    return name


def _no_machine(name: str, known: list[str]) -> ProcessError:
    return ProcessError(
        "E5123", f"there is no machine '{name}'", found=f"machines: {', '.join(sorted(known)[:20]) or 'none'}"
    )
