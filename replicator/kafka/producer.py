"""A producer: runs the state machine over connections, in the caller's thread while it waits, otherwise in a background
thread.

What is handed over leaves from the calling thread, at once. A caller that waits reads the replies itself; the
producer's own thread, the caretaker, does it while nobody waits. So a transaction that comes alone is written and
committed without a change of threads.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from kafka.errors import IllegalStateError, KafkaConnectionError, KafkaError, KafkaTimeoutError, for_code

from replicator.kafka import errors
from replicator.kafka.batch import Batch, Place
from replicator.kafka.failure import ConnectionFailure
from replicator.kafka.links import Links
from replicator.kafka.machine import Machine, Settings
from replicator.kafka.security import Security
from replicator.kafka.transaction import State

log = logging.getLogger(__name__)

CLIENT_ID: Final = "mysql-replicator"
_IDLE_SECONDS: Final = 5.0
_BUSY_SECONDS: Final = 0.1
"""The longest wait with nothing to do, and while something is unfinished."""

_AWAY_SECONDS: Final = 0.02
"""For which the caretaker leaves the replies to a caller that has just waited for some, and will again."""

_SOON: Final = 0.05


class Producer:
    """Idempotent; transactional with a transactional id. After an error nothing leaves any more: make another one.

    Methods are called from one thread. Those that wait raise KafkaError, and what
    `guard` raised.

    Args:
        bootstrap: hosts and ports.
        guard: raises when nothing may be sent any more; asked when a batch or a commit leaves, in whichever thread.
    """

    def __init__(
        self,
        bootstrap: Sequence[tuple[str, int]],
        settings: Settings,
        guard: Callable[[], None],
        security: Security,
    ) -> None:
        self._machine = Machine(settings, guard)
        self._lock = threading.Lock()
        self._poller = select.epoll()
        self._alarm = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._poller.register(self._alarm, select.EPOLLIN)
        self._links = Links(bootstrap, security, CLIENT_ID, self._poller, self._wake)
        self._outer = select.epoll()  # what the caretaker waits for: the sockets, or that it shall leave them
        self._leave = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._outer.register(self._poller.fileno(), select.EPOLLIN)
        self._outer.register(self._leave, select.EPOLLIN)
        self._resume = threading.Event()
        self._waiting = False  # a caller reads the replies
        self._left_at = 0.0  # when it last did
        self._sleeps_until = 0.0  # the caretaker; 0: it does not wait for sockets
        self._closed = False
        self._caretaker = threading.Thread(target=self._care, name="kafka-producer", daemon=True)

    @property
    def error(self) -> BaseException | None:
        """What has ended the producer."""
        return self._machine.error

    # Beginning.

    def connect(self, timeout: float) -> None:
        """Connects to a broker that answers. Raises KafkaConnectionError, whose cause is a ConnectionFailure: there is
        none, or one refuses us for good."""
        deadline = time.monotonic() + timeout
        self._caretaker.start()
        cluster = self._machine.cluster
        if not self.wait(lambda: bool(cluster.brokers) or self._fatal(), deadline) or self._fatal():
            raise _unreachable(self._links.failure)

    def _fatal(self) -> bool:
        failure = self._links.failure
        return failure is not None and failure.final

    def identify(self, timeout: float) -> None:
        """Gets a producer id. With a transactional id every earlier producer that has it is fenced; its open
        transaction is aborted."""
        transactions = self._machine.transactions
        with self._lock:
            transactions.identify()
        self._await(lambda: transactions.identified, timeout, "no producer id")

    def partitions(self, topic: str, timeout: float) -> int:
        """The number of partitions of a topic that exists."""
        cluster = self._machine.cluster

        def known() -> bool:
            code = cluster.error(topic)
            return cluster.partitions(topic) is not None or (code != 0 and code not in errors.STALE_METADATA)

        if cluster.partitions(topic) is None:
            with self._lock:
                cluster.want(topic)
            self._await(known, timeout, f"the partitions of '{topic}' are unknown")
        found = cluster.partitions(topic)
        if found is None:
            raise for_code(cluster.error(topic))(topic)
        return found

    # Sending.

    def append(self, batch: Batch) -> None:
        """The batch leaves with the next `push`, or before."""
        with self._lock:
            self._machine.append(batch, time.monotonic())

    def push(self) -> None:
        """What can leave leaves now."""
        if self._closed:
            return
        with self._lock:
            now = time.monotonic()
            mine = now < self._left_at + _AWAY_SECONDS
            self._step(self._poller.poll(0) if mine else (), now)
            late = self._sleeps_until > now + _SOON and self._timeout(now) + _SOON < self._sleeps_until - now
        if late:
            self._wake()

    def wait(self, ready: Callable[[], bool], deadline: float) -> bool:
        """Drives the producer until `ready` or, then False, until `deadline`, monotonic."""
        if ready():
            return True
        self._waiting = True
        try:
            if self._sleeps_until:
                os.eventfd_write(self._leave, 1)
            events: Sequence[tuple[int, int]] = self._poller.poll(0)
            while not self._closed:
                now = time.monotonic()
                with self._lock:
                    self._step(events, now)
                    timeout = min(self._timeout(now), deadline - now)
                if ready():
                    return True
                if timeout <= 0 and now >= deadline:
                    return False
                events = self._poller.poll(timeout)
            return False
        finally:
            self._left_at = time.monotonic()
            self._waiting = False

    # Transactions.

    def begin(self, *, second: bool = True) -> None:
        """Begins a transaction. second: by the second protocol, where the cluster has it."""
        with self._lock:
            self._raise()
            if self._machine.transactions.state is not State.READY:
                raise IllegalStateError("a transaction is open")
            self._machine.transactions.begin(self._links.peers, second=second)

    def add(self, place: Place) -> None:
        """The partition takes part in the transaction, without a batch; by the first protocol."""
        with self._lock:
            self._machine.transactions.add(place)

    def end(self, timeout: float, *, commit: bool) -> None:
        """Ends the transaction: commits it once everything in it is written, or aborts it, for which batches that have
        not left are dropped. Whether a commit that raises KafkaTimeoutError was carried out is unknown."""
        transactions = self._machine.transactions
        with self._lock:
            self._raise()
            self._machine.end(commit=commit)
        what = "a commit" if commit else "an abort"
        self._await(lambda: transactions.state is State.READY, timeout, f"no answer to {what} within {timeout:.0f} s")

    def coordinator_lost(self) -> bool:
        """See `Transactions.coordinator_lost`."""
        with self._lock:
            return self._machine.transactions.coordinator_lost(self._links.peers)

    def take_another(self) -> None:
        """See `Transactions.take_another`."""
        with self._lock:
            self._machine.transactions.take_another()

    def close(self, timeout: float) -> None:
        """Drops what is not sent; connections end by a reset. May be called again."""
        if self._closed:
            return
        self._closed = True
        self._wake()
        self._resume.set()
        if self._caretaker.is_alive() and self._caretaker is not threading.current_thread():
            self._caretaker.join(timeout)
        with self._lock:
            self._machine.fail(IllegalStateError("the producer is closed"))
            self._links.close(time.monotonic())
            self._outer.close()
            self._poller.close()
            os.close(self._alarm)
            os.close(self._leave)

    # The loop.

    def _await(self, done: Callable[[], bool], timeout: float, what: str) -> None:
        machine = self._machine
        if not self.wait(lambda: done() or machine.error is not None, time.monotonic() + timeout):
            failure = self._links.failure
            raise KafkaTimeoutError(f"{what}: {failure}" if failure is not None else what)
        self._raise()

    def _raise(self) -> None:
        if self._machine.error is not None:
            raise self._machine.error
        if self._closed:
            raise IllegalStateError("the producer is closed")

    def _step(self, events: Sequence[tuple[int, int]], now: float) -> None:
        """Under the lock."""
        if self._closed:
            return
        machine, links = self._machine, self._links
        machine.check()  # first of all: a process that was stopped may wake after its lease
        if machine.error is not None:
            links.close(now)  # by a reset: what has not arrived yet never shall
            return
        if events:
            links.handle(events, now)
            if any(fd == self._alarm for fd, _ in events):
                self._heard(self._alarm)
                links.advance_all(now)
        links.tick(now)
        cluster, transactions = machine.cluster, machine.transactions
        if transactions.address is not None:
            cluster.brokers.setdefault(transactions.coordinator, transactions.address)
            transactions.address = None
        links.adopt(cluster.brokers)
        while requests := machine.requests(links.peers, now):
            for request in requests:
                links.send(request, now)
        if machine.error is not None:
            links.close(now)
            return
        for node, until in machine.muted.items():
            if node in links.peers:
                links.peers[node].excuse(until)  # it answers nothing before
        links.want(machine.wanted(now), cluster.brokers, now)
        if links.refused is not None:
            machine.fail(_unreachable(links.refused))  # no broker would be told apart from one that is away

    def _timeout(self, now: float) -> float:
        """Seconds for which nothing has to be done if nothing happens."""
        machine = self._machine
        unfinished = machine.outstanding or machine.transactions.state in (State.IDENTIFYING, State.ENDING)
        most = _BUSY_SECONDS if unfinished else _IDLE_SECONDS
        return max(0.0, min(machine.deadline(now) - now, self._links.deadline(now) - now, most))

    def _wake(self) -> None:
        try:
            os.eventfd_write(self._alarm, 1)
        except OSError:
            return  # closed meanwhile

    @staticmethod
    def _heard(alarm: int) -> None:
        """Another thread may have been faster."""
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(alarm)

    def _care(self) -> None:
        """In the caretaker."""
        try:
            while not self._closed:
                if self._waiting or time.monotonic() < self._left_at + _AWAY_SECONDS:
                    self._resume.wait(_AWAY_SECONDS)
                    continue
                self._care_once()
        except Exception as error:
            if self._closed:
                return  # under its feet
            log.exception("the producer's thread failed")
            with self._lock:
                self._machine.fail(error if isinstance(error, KafkaError) else KafkaError(str(error)))

    def _care_once(self) -> None:
        with self._lock:
            now = time.monotonic()
            timeout = self._timeout(now)
            self._sleeps_until = now + timeout
        try:
            if self._waiting:
                return
            found = self._outer.poll(timeout)
        finally:
            self._sleeps_until = 0.0
        with self._lock:
            if self._closed:
                return
            if any(fd == self._leave for fd, _ in found):
                self._heard(self._leave)
            if self._waiting:
                return  # a reply that is read here would not end that wait
            self._step(self._poller.poll(0), time.monotonic())


def _unreachable(failure: ConnectionFailure | None) -> KafkaConnectionError:
    error = KafkaConnectionError(str(failure) if failure is not None else "no broker answers")
    error.__cause__ = failure
    return error
