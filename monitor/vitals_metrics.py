"""Metrics of hosts: whether each is online, and its vitals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from prometheus_client.core import Metric

from monitor.metric_families import gauge
from monitor.view import MachineView
from replicator.coordination.records import CORE


def machine_metrics(machines: Iterable[MachineView]) -> Iterator[Metric]:
    """Of all but those that have ended on purpose."""
    machines = [machine for machine in machines if machine.state != "stopped"]
    here = [machine for machine in machines if machine.state != "offline"]
    online = [((machine.host,), float(machine.state == "online")) for machine in machines]
    text = "1 while the machine reports, 0 while it is expected and does not."
    yield gauge("machine_online", text, ["host"], online)
    yield from _vitals(here)
    cores = [machine for machine in here if machine.role in ("", CORE)]
    per_machine: tuple[tuple[str, str, Sequence[MachineView], list[float]], ...] = (
        ("machine_load1", "Load average of one minute.", here, [m.load1 for m in here]),
        ("machine_memory_used_bytes", "Memory of the machine in use.", here, [m.memory_bytes for m in here]),
        ("machine_memory_bytes", "Memory of the machine.", here, [m.memory_total_bytes for m in here]),
        ("core_resident_memory_bytes", "Memory of the Core and its workers.", cores, [m.rss_bytes for m in cores]),
        (
            "core_session_timeout_seconds",
            "Session timeout negotiated with ZooKeeper.",
            cores,
            [m.session_timeout_s for m in cores],
        ),
        ("core_start_timestamp_seconds", "Start time of the Core.", cores, [m.since_ms / 1000 for m in cores]),
    )
    for name, text, of, values in per_machine:
        yield gauge(name, text, ["host"], [((m.host,), value) for m, value in zip(of, values, strict=True)])


def _vitals(machines: Sequence[MachineView]) -> Iterator[Metric]:
    for name, text, values in (
        ("machine_cpu_ratio", "Share of all processors that is busy.", [m.cpu for m in machines]),
        ("machine_receive_bytes_per_second", "Bytes received from networks.", [m.received_per_s for m in machines]),
        ("machine_send_bytes_per_second", "Bytes sent to networks.", [m.sent_per_s for m in machines]),
    ):
        found = zip(machines, values, strict=True)
        yield gauge(name, text, ["host"], [((m.host,), value) for m, value in found if value is not None])
    used = [((machine.host, disk.mount), float(disk.used)) for machine in machines for disk in machine.disks]
    yield gauge("machine_disk_used_bytes", "Bytes in use of a file system.", ["host", "mount"], used)
    free = [((machine.host, disk.mount), float(disk.free)) for machine in machines for disk in machine.disks]
    yield gauge("machine_disk_free_bytes", "Bytes that processes may still use.", ["host", "mount"], free)
    shares = [((machine.host, disk.mount), disk.share) for machine in machines for disk in machine.disks]
    yield gauge("machine_disk_used_ratio", "Share of a file system in use, 0 to 1.", ["host", "mount"], shares)
    draining = [((machine.host,), float(machine.draining)) for machine in machines]
    yield gauge("machine_draining", "1 while the Core hands over its tasks and takes none.", ["host"], draining)
