"""What a pid file says about its process, and whether that process still is the one.

The first line is the pid, for other tools; the second one is JSON. A pid alone may belong to another process by now.
With the time at which the process started, in ticks since the machine did, it is unique.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from replicator.host.addresses import parse_ensemble
from replicator.model.decoding import from_json

MOST_BYTES: Final = 16 << 10


class ProcessRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """
    Attributes:
        kind: core, server, monitor or agent.
        host: name of a Core, an agent or a Server; "" for a Monitor.
        zookeeper: servers and chroot (`addresses.Ensemble.key`).
        root: root znode of the bus.
        listen: as given to the process; "" for a Core or an agent.
        service: unit of systemd that the process is the main process of, as `systemctl stop` takes it; "" for none.
        started: clock ticks from the start of the machine to that of the process.
        boot: id of that start of the machine.
        stopping: whether the process has received a signal to end.
    """

    kind: str
    host: str
    zookeeper: str
    root: str
    listen: str = ""
    service: str = ""
    pid: int = 0
    started: int = 0
    boot: str = ""
    stopping: bool = False

    def __str__(self) -> str:
        name = self.host or self.listen
        return f"{self.kind} {name} (pid {self.pid}, zookeeper {self.zookeeper}, root {self.root})"

    @classmethod
    def of(cls, kind: str, zookeeper: str, root: str, *, host: str = "", listen: str = "") -> ProcessRecord:
        """Of this process. zookeeper, root, listen: as given to it."""
        pid = os.getpid()
        return cls(
            kind,
            host,
            parse_ensemble(zookeeper).key,
            root_of(root),
            listen,
            service_of(os.environ, pid),
            pid,
            start_time(pid) or 0,
            boot_id(),
        )

    @property
    def runs(self) -> bool:
        """Whether there is a process of this pid on this machine, and it is the one that wrote the record."""
        return self.boot == boot_id() and bool(self.started) and start_time(self.pid) == self.started


def root_of(root: str) -> str:
    """As `coordination.layout.Layout` has it."""
    return "/" + root.strip("/")


def encode(record: ProcessRecord) -> bytes:
    return f"{record.pid}\n".encode() + msgspec.json.encode(record) + b"\n"


def decode(data: bytes) -> ProcessRecord | None:
    """None for what is no pid file of ours, or is half written."""
    pid, _, rest = data.partition(b"\n")
    try:
        record = from_json(rest, ProcessRecord)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return record if pid == str(record.pid).encode() and record.pid > 0 else None


def start_time(pid: int) -> int | None:
    """In ticks, from field 22 of proc_pid_stat(5); None for a process that does not exist or has ended."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()  # the name before it may have blanks and brackets
    return None if len(fields) < 20 or fields[0] in ("Z", "X") else int(fields[19])


def boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return "unknown"


def service_of(environment: Mapping[str, str], pid: int, cgroups: Path = Path("/proc/self/cgroup")) -> str:
    """The unit of systemd that this is the main process of. SYSTEMD_EXEC_PID is inherited by what a unit starts (the
    shells of a desktop, jobs of cron), and equals the pid only in the main process."""
    if environment.get("SYSTEMD_EXEC_PID") != str(pid):
        return ""
    try:
        paths = [line.rpartition(":")[2] for line in cgroups.read_text().splitlines()]
    except OSError:
        return ""
    for path in paths:
        above, _, leaf = path.rpartition("/")
        if leaf.endswith(".service"):
            return f"--user {leaf}" if "/user@" in above else leaf
    return ""
