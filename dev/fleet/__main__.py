"""`python -m dev.fleet`: measures many tasks without their data path and prints the figures.

What is measured: time until all run, requests per process and writes per task at rest, watches, the Server's list, the
Monitor's page and how soon it shows a change, and the take-over of all tasks of a Core that is killed.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import httpx
import msgspec
import psutil

from dev import plain_http
from dev.bench.fleet import zxid
from dev.bench.report import OUTPUT, Entry, fact, figure, read, write
from dev.cluster import wait_for
from dev.fleet import real
from dev.fleet.asked import counter, received
from dev.fleet.bus import SESSION_SECONDS, FleetBus
from replicator.coordination.machines.machines import Machines

PREFIX = "many."


def measure(tasks: int, cores: int, zookeepers: int, seconds: float, tries: int) -> Iterator[Entry]:
    bus = FleetBus(tasks, cores, zookeepers)
    try:
        yield fact(
            "run",
            f"{tasks} tasks, {cores} Cores, {zookeepers} ZooKeepers, T = {SESSION_SECONDS:g} s, "
            f"load average before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores",
        )
        bus.create_tasks()
        took = []
        for number in range(len(bus.blocks)):
            began = time.monotonic()
            bus.start_core(number)
            took.append(time.monotonic() - began)
        yield figure("core_runs_all_s", "s", took)
        server, monitor = bus.cluster.start_server(), bus.cluster.start_monitor()
        began = time.monotonic()
        ready = f"{bus.cluster.monitor_url}/healthz/ready"
        wait_for(lambda: plain_http.get(ready, timeout=10).status_code == 200, "the Monitor to have read", 120)
        yield figure("monitor_first_s", "s", [time.monotonic() - began])
        yield from _lists(bus, tries)
        yield from _page(bus, tries)
        yield from _rest(bus, tasks, seconds, {"server": server.pid, "monitor": monitor.pid})
        yield from _takeover(bus)
    finally:
        bus.close()


def _lists(bus: FleetBus, tries: int) -> Iterator[Entry]:
    login = {"authorization": f"Bearer {bus.cluster.token}"}
    with httpx.Client(base_url=f"{bus.cluster.server_url}/api/v1", headers=login, timeout=60) as http:
        began = time.monotonic()
        first = http.get("/tasks")
        yield figure("list_first_ms", "ms", [(time.monotonic() - began) * 1000])
        yield figure("list_kb", "kB", [len(first.content) / 1000])
        for name, headers in (("list_ms", {}), ("list_aged_ms", {"cache-control": "max-age=1"})):
            taken = []
            for _ in range(tries):
                time.sleep(0.3)
                began = time.monotonic()
                http.get("/tasks", headers=headers).raise_for_status()
                taken.append((time.monotonic() - began) * 1000)
            yield figure(name, "ms", taken)


def _page(bus: FleetBus, tries: int) -> Iterator[Entry]:
    url = bus.cluster.monitor_url
    page = plain_http.get(url)
    yield figure("page_kb", "kB", [len(page.content) / 1000])
    yield figure("page_compressed_kb", "kB", [page.num_bytes_downloaded / 1000])
    name, waits = bus.blocks[-1][0], []
    for number in range(tries):
        began = time.monotonic()
        bus.cluster.cli("task", "pause" if number % 2 == 0 else "resume", name)
        acknowledged = time.monotonic()
        wanted = "paused" if number % 2 == 0 else "running"

        def shown(wanted: str = wanted) -> bool:
            rows = plain_http.get(f"{url}/api/state").json()["tasks"]
            return any(row["name"] == name and row["desired"] == wanted for row in rows)

        wait_for(shown, f"the Monitor to show {wanted}", 30, every=0.1)
        waits.append(time.monotonic() - acknowledged)
        time.sleep(max(0.0, 1.0 - (time.monotonic() - began)))
    bus.cluster.cli("task", "resume", name)
    yield figure("page_updated_s", "s", waits, 2)


def _rest(bus: FleetBus, tasks: int, seconds: float, pids: dict[str, int]) -> Iterator[Entry]:
    bus.wait_running(bus.blocks[-1], f"host-{len(bus.blocks) - 1}")
    time.sleep(5)
    owners = {node.owner: node.name for node in Machines(bus.coordinator, bus.layout).list()}
    servers = bus.coordinator.children(bus.layout.servers)
    owners |= {bus.coordinator.get(f"{bus.layout.servers}/{name}").stat.owner: "server" for name in servers}
    processes = {f"host-{number}": psutil.Process(core.pid) for number, core in enumerate(bus.cores)}
    processes |= {name: psutil.Process(pid) for name, pid in pids.items()}
    before, written, began = received(bus.members), zxid(bus.members[0]), time.monotonic()
    cpu = {name: sum(process.cpu_times()[:2]) for name, process in processes.items()}
    time.sleep(seconds)
    took = time.monotonic() - began
    after, writes = received(bus.members), zxid(bus.members[0]) - written
    rates: dict[str, float] = {}
    for session, count in after.items():
        if session != bus.coordinator.session_id:
            name = owners.get(session, "monitor")
            rates[name] = rates.get(name, 0.0) + (count - before.get(session, 0)) / took
    yield figure("core_requests_per_s", "/s", [rate for name, rate in rates.items() if name.startswith("host-")])
    for name in ("server", "monitor"):
        yield figure(f"{name}_requests_per_s", "/s", [rates.get(name, 0.0)])
    for name, process in processes.items():
        used = (sum(process.cpu_times()[:2]) - cpu[name]) / took * 100
        if not name.startswith("host-") or name == "host-0":
            yield figure(f"{name}_cpu", "% of a core", [used])
            yield figure(f"{name}_memory", "MB RSS", [process.memory_info().rss / 1e6])
    reports = len(bus.cores) * took  # one write a second of each Core, whatever the number of tasks
    yield figure("writes_per_minute", "", [writes / took * 60])
    yield figure("writes_per_task_per_minute", "", [max(0.0, writes - reports) / took * 60 / tasks], 2)
    yield figure("watches", "", [counter(bus.members, "zk_watch_count")], 0)
    nodes = [bus.coordinator.get(bus.layout.machine(f"host-{number}")) for number in range(len(bus.cores))]
    yield figure("machine_node_kb", "kB", [len(node.data) / 1000 for node in nodes])


def _takeover(bus: FleetBus) -> Iterator[Entry]:
    """Requests and CPU are those of the Core that takes over, per task: they do not depend on what else runs."""
    names, successor = bus.blocks[0], psutil.Process(bus.cores[1].pid)
    session = next(node.owner for node in Machines(bus.coordinator, bus.layout).list() if node.name == "host-1")
    asked, used, began = received(bus.members)[session], sum(successor.cpu_times()[:2]), time.monotonic()
    bus.cores[0].kill()
    bus.wait_running(names, "host-1", 240)
    took = time.monotonic() - began
    yield figure("takeover_tasks", "", [len(names)], 0)
    yield figure("takeover_s", "s", [took])
    yield figure("takeover_cpu_ms_per_task", "ms", [(sum(successor.cpu_times()[:2]) - used) / len(names) * 1000])
    yield figure("takeover_requests_per_task", "", [(received(bus.members)[session] - asked) / len(names)])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m dev.fleet", description=__doc__)
    parser.add_argument("--real", type=int, default=0, help="real idle tasks over two Cores, measured first")
    parser.add_argument("--tasks", type=int, default=1000, help="without data path; 0: none")
    parser.add_argument("--cores", type=int, default=5)
    parser.add_argument("--zookeepers", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=60.0, help="of rest that are measured")
    parser.add_argument("--tries", type=int, default=10)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    parts = []
    if options.real:
        parts.append(real.measure(options.real, options.seconds))
    if options.tasks:
        parts.append(measure(options.tasks, options.cores, options.zookeepers, options.seconds, options.tries))
    found = []
    for entry in chain(*parts):
        value = entry.reason if entry.value is None else f"{entry.value:g} {entry.unit}"
        print(f"{entry.name}: {value}", flush=True)
        found.append(entry)
    kept = [msgspec.structs.replace(entry, name=PREFIX + entry.name) for entry in found]
    write([*read(options.output).values(), *kept], options.output)


if __name__ == "__main__":
    main()
