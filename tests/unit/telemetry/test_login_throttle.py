"""Failed logins by address, with a clock that the test moves."""

from __future__ import annotations

from replicator.telemetry.connection_limits import Connections, network
from replicator.telemetry.listen import Limits
from replicator.telemetry.login_throttle import FREE, LONGEST, LoginThrottle

A, B = "192.0.2.1", "192.0.2.2"


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def failing(throttle: LoginThrottle, address: str, times: int) -> None:
    for _ in range(times):
        throttle.failed(address, b"guess")


def test_waits_grow_and_end() -> None:
    clock = Clock()
    throttle = LoginThrottle(clock)
    failing(throttle, A, FREE - 1)
    assert throttle.wait(A) == 0
    waits = []
    for _ in range(10):
        failing(throttle, A, 1)
        waits.append(throttle.wait(A))
    assert waits[:4] == [1, 2, 4, 8] and waits[-1] == LONGEST
    clock.now += LONGEST
    assert throttle.wait(A) == 0
    clock.now += 1000
    failing(throttle, A, 1)
    assert throttle.wait(A) == 0, "long ago: begins again"


def test_others_are_not_locked_out() -> None:
    throttle = LoginThrottle(Clock())
    throttle.accepted(b"right")
    failing(throttle, A, 20)
    assert throttle.wait(A) > 0 and throttle.wait(B) == 0
    assert throttle.wait(A, b"right") == 0, "the same address, as behind a proxy"
    throttle.failed(A, b"right")
    assert throttle.wait(A, b"right") > 0, "revoked"


def test_a_host_has_all_addresses_of_its_network() -> None:
    throttle = LoginThrottle(Clock())
    for number in range(FREE):
        throttle.failed(f"2001:db8::{number}", b"guess")
    assert throttle.wait("2001:db8::ffff") > 0 and throttle.wait("2001:db8:0:1::1") == 0
    assert network("::ffff:192.0.2.1") == A


def test_memory_is_bounded() -> None:
    throttle = LoginThrottle(Clock())
    failing(throttle, A, 20)
    for number in range(5000):
        throttle.failed(f"10.0.{number // 256}.{number % 256}")
    assert throttle.wait(A) == 0, "forgotten"


def test_connections_are_counted_by_address() -> None:
    found = Connections(Limits(connections=3, connections_per_address=2))
    for number in range(2):
        assert not found.too_many_of(A)
        found.enter(number, A)
    assert found.too_many_of(A) and not found.too_many_of(B) and not found.full
    found.enter("proxy", "127.0.0.1")
    assert found.full and not found.too_many_of("127.0.0.1")
    for _ in range(2):
        found.leave(0)
    assert len(found) == 2 and not found.too_many_of(A)
