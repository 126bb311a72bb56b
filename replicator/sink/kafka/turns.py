"""Steps of the sender's loop that the delivering thread takes.

kafka-python's sender is a thread of its own: what is handed over reaches the socket when that thread has been woken,
has come around its loop, and has got the interpreter back. So while the loop waits it leaves its turn to whoever wants
it, and what is handed over then is sent by the thread that brings it: the same step, without the way there.

One lock says whose turn it is. The loop holds it, except in `select`; who delivers takes it only where it is free, and
wakes the loop where it is not. So neither waits for the other for longer than a step.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any, Final

from kafka.protocol.metadata import CoordinatorType

from replicator.sink.kafka.sockets import QuietSelector

log = logging.getLogger(__name__)

_SOON: Final = 0.2
"""Seconds. A loop that comes around by then of itself need not be woken to see to the timers of what was sent."""


class Turns:
    """
    Args:
        sender: the library's, started, with a `QuietSelector`; with another one every step is the loop's.

    Attributes:
        ours: a step is being taken by the delivering thread; it may not wait for anything.
    """

    def __init__(self, sender: Any) -> None:
        self.ours = False
        self._sender = sender
        self._client = sender._client
        self._net = sender._client._net
        self._manager = sender._transaction_manager
        self._lock = threading.Lock()
        self._lock.acquire()  # for the loop, until it waits for the first time
        self._until = 0.0
        selector = self._net._selector
        if isinstance(selector, QuietSelector):
            selector.share(sender.ident, self._leave, self._lock.acquire)

    def take(self, alone: Callable[[], bool] | None = None) -> None:
        """From the thread that delivers: sends what can leave, or has it sent. alone: sends what is all there is to
        send without a whole step; False where that is not possible."""
        if not self._step(alone):
            self._sender.wakeup()

    def _step(self, alone: Callable[[], bool] | None) -> bool:
        """False: the loop has something to do."""
        if not self._lock.acquire(blocking=False):
            return False
        try:
            if self._net._ready:
                return False
            if alone is None or not alone():
                if not self._fits():
                    return False
                self.ours = True
                self._sender.run_once()
            return not self._net._ready and self._until < time.monotonic() + _SOON
        except Exception as error:  # the loop meets it, too, and says more
            log.debug("a step of the sender failed: %s", error)
            return False
        finally:
            self.ours = False
            self._lock.release()

    def _fits(self) -> bool:
        """Whether a step finds every broker ready. Else it would wait for one, as it would where it has to ask any
        broker for the producer's id or for the coordinator."""
        manager, ready = self._manager, self._client.is_ready
        pending = manager._pending_requests
        if manager.is_transactional():
            if not all(handler.needs_coordinator() for *_, handler in pending):
                return False
            if not ready(manager.coordinator(CoordinatorType.TRANSACTION)):
                return False
        elif pending or not manager.has_producer_id():
            return False
        connections = self._client._manager._conns
        return bool(connections) and all(map(ready, connections))

    def _leave(self, timeout: float | None) -> None:
        """In the loop, which now waits for as many seconds; None: for whatever comes."""
        self._until = time.monotonic() + timeout if timeout is not None else float("inf")
        self._lock.release()
