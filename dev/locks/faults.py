"""Who has the lock after a fault: owner A has it, something happens, owner B requests it, and both write."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, NamedTuple

from dev.faults.proxy import Proxy
from dev.servers import ZooKeeper
from dev.servers.redis import Redis
from dev.servers.wall_clock import WallClock
from replicator.zookeeper.client import connect

TTL = 3.0
"""Seconds: time to live in Redis, session timeout of ZooKeeper."""
REDLOCK = 5
WAIT = 3 * TTL


class Outcome(NamedTuple):
    """b_after: seconds until B had the lock, None: not within WAIT. both: A believed to have it, too, at that moment.
    late_write: a write of A that came after B's was accepted by a resource without fencing; fenced: refused by one that
    compares tokens, None without tokens."""

    system: str
    fault: str
    b_after: float | None
    both: bool
    late_write: bool
    fenced: bool | None


class Resource:
    """Keeps the last write; with fencing it refuses tokens that are lower than the highest one."""

    def __init__(self) -> None:
        self.highest = 0

    def accepts(self, token: int | None) -> bool:
        if token is None:
            return True
        if token < self.highest:
            return False
        self.highest = token
        return True


class Holder:
    def __init__(self, system: str, where: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "dev.locks.holder", system, where, str(TTL)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._line()

    def ask(self, request: str) -> str:
        self.send(request)
        return self._line()

    def send(self, request: str) -> None:
        _pipe(self._process.stdin).write(f"{request}\n")
        _pipe(self._process.stdin).flush()

    def _line(self) -> str:
        line = _pipe(self._process.stdout).readline()
        if not line:
            raise RuntimeError("the holder has ended")
        return line.strip()

    def token(self) -> int | None:
        found = self.ask("token")
        return None if found == "none" else int(found)

    def stop(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


def _pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe


class ClockedZooKeeper(ZooKeeper):
    """With a wall clock that can be set."""

    @property
    def clock(self) -> WallClock:
        return WallClock(self.folder, self.name)

    def _prepare(self) -> None:
        super()._prepare()
        self.clock.prepare()

    def _command(self) -> list[str]:
        return self.clock.command(super()._command())


class Site:
    """Servers of one system, each behind a proxy that A uses. `for_a`, `for_b`: where the owners connect to."""

    def __init__(self, system: str, servers: list[Redis] | list[ClockedZooKeeper], proxies: list[Proxy]) -> None:
        self.system = system
        self.servers = servers
        self.proxies = proxies
        if system == "zookeeper":
            self.for_a, self.for_b = proxies[0].address, servers[0].address
        else:
            self.for_a = ",".join(str(proxy.port) for proxy in proxies)
            self.for_b = ",".join(str(server.port) for server in servers)


@contextmanager
def site(system: str) -> Iterator[Site]:
    with contextlib.ExitStack() as stack:
        servers: list[Redis] | list[ClockedZooKeeper]
        if system == "zookeeper":
            servers = [stack.enter_context(ClockedZooKeeper())]
        else:
            servers = [stack.enter_context(Redis()) for _ in range(REDLOCK if system == "redlock" else 1)]
        yield Site(system, servers, [stack.enter_context(Proxy(server.port)) for server in servers])


def pause(at: Site, a: Holder) -> None:
    """A is stopped right after it has looked whether it has the lock."""
    a.stop()


def restart(at: Site, a: Holder) -> None:
    """The server restarts; of Redlock one of the three servers at which A has it."""
    server = at.servers[min(2, len(at.servers) - 1)]
    server.kill()
    server.start()


def clock(at: Site, a: Holder) -> None:
    """The wall clock of the server, or of three of five, jumps ahead by ten times the time to live."""
    for server in at.servers[: len(at.servers) // 2 + 1]:
        server.clock.set(int(10 * TTL))
    if isinstance(at.servers[0], ZooKeeper):
        _require_jump(at.servers[0].hosts)


def _require_jump(hosts: str) -> None:
    """ZooKeeper stamps new nodes with its wall clock: it has seen the jump."""
    coordinator = connect(hosts, TTL)
    try:
        path = coordinator.create("/stamp-", ephemeral=True, sequential=True)
        ahead = coordinator.get(path).stat.ctime_ms / 1000 - time.time()
    finally:
        coordinator.close()
    if ahead < 5 * TTL:
        raise RuntimeError(f"the clock of ZooKeeper is ahead by {ahead:.1f} s only")


def partition(at: Site, a: Holder) -> None:
    """A is cut off from all servers."""
    for proxy in at.proxies:
        proxy.black_hole()


FAULTS: dict[str, Callable[[Site, Holder], None]] = {
    "pause": pause,
    "restart": restart,
    "clock": clock,
    "partition": partition,
}


def run(system: str, fault: str) -> Outcome:
    with site(system) as at:
        a, b = Holder(system, at.for_a), Holder(system, at.for_b)
        try:
            return _run(at, fault, a, b)
        finally:
            a.close()
            b.close()
            for proxy in at.proxies:
                proxy.pass_()


def _run(at: Site, fault: str, a: Holder, b: Holder) -> Outcome:
    apart = at.proxies[3:] if fault == "restart" else []
    for proxy in apart:  # A gets the smallest majority
        proxy.refuse()
    if a.ask("acquire 5") != "yes" or a.ask("valid") != "yes":
        raise RuntimeError(f"{at.system}: the lock was not free")
    for proxy in apart:
        proxy.pass_()
    begun = time.monotonic()
    FAULTS[fault](at, a)
    got = b.ask(f"acquire {WAIT}") == "yes"
    after = time.monotonic() - begun
    if fault == "pause":
        believed = False  # it is stopped, and believes nothing
        while time.monotonic() - begun < TTL + 1:
            time.sleep(0.1)
        a.go_on()
    else:
        believed = a.ask("valid") == "yes"
    plain, fenced = Resource(), Resource()
    if got:
        plain.accepts(None)
        fenced.accepts(b.token())
    token = a.token()
    # A was about to write when it was stopped; else it writes only while it believes to have the lock.
    writes = got and (believed or fault == "pause")
    late = writes and plain.accepts(None)
    refused = None if token is None or not writes else not fenced.accepts(token)
    return Outcome(at.system, fault, after if got else None, got and believed, late, refused)
