"""Throughput and latency of locks: one owner alone, and several that contend."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from typing import NamedTuple

from dev.locks.faults import site
from dev.locks.systems import client

TTL = 10.0
OWNERS = 8


class Speed(NamedTuple):
    """cycles: acquire and release, a second, over all owners. p50, p99: milliseconds to acquire."""

    system: str
    owners: int
    cycles: float
    p50: float
    p99: float


def measure(system: str, owners: int, seconds: float) -> Speed:
    with site(system) as at:
        command = [sys.executable, "-m", "dev.locks.speed", system, at.for_b, str(seconds)]
        processes = [
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(owners)
        ]
        for process in processes:  # all of them are connected before the first one begins
            assert process.stdout is not None
            process.stdout.readline()
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("begin\n")
            process.stdin.flush()
        times = [float(word) for process in processes for word in process.communicate(timeout=120)[0].split()]
    return summary(system, owners, seconds, times)


def summary(system: str, owners: int, seconds: float, times: list[float]) -> Speed:
    """`times`: of each acquire, in milliseconds."""
    if len(times) < 2:
        raise RuntimeError(f"{system}: {len(times)} cycles in {seconds} s")
    points = statistics.quantiles(times, n=100, method="inclusive")
    return Speed(system, owners, len(times) / seconds, points[49], points[98])


def main(system: str, where: str, seconds: str) -> int:
    owner, times = client(system, where, TTL), []
    print("ready", flush=True)
    sys.stdin.readline()
    end = time.monotonic() + float(seconds)
    while (begun := time.monotonic()) < end:
        if owner.acquire(30):
            times.append((time.monotonic() - begun) * 1000)
            owner.release()
    owner.close()
    print(" ".join(f"{each:.3f}" for each in times))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
