"""Answers of requests with an idempotency key: a request that is repeated with the key gets the first answer again.

Znodes /requests/KEY, by the hash of login and key, so that two Servers know the same keys and no login sees the answers
of another. Bounded in time and number.
"""

from __future__ import annotations

import contextlib
import hashlib
import zlib
from typing import Final

from replicator.coordination.clock import now_ms
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import RequestRecord, StoredAnswer, dump, load
from replicator.errors import NodeExists, NodeMissing, ProcessError

KEPT_MS: Final = 24 * 3600 * 1000
KEPT: Final = 2000
MOST: Final = 4000
"""From here on new keys are refused, until the master has removed old ones."""
_MOST_BODY: Final = 500_000
"""Bytes of a compressed body; the answer is kept without a larger one."""


def record_id(login: str, key: str) -> str:
    return hashlib.sha256(f"{login}\n{key}".encode()).hexdigest()[:40]


def fingerprint(method: str, path: str, query: bytes, body: bytes) -> str:
    parts = (method.encode(), path.encode(), query, body)
    return hashlib.sha256(b"".join(b"%d:" % len(part) + part for part in parts)).hexdigest()


class Requests:
    def __init__(self, coordinator: Coordinator, layout: Layout) -> None:
        self._coordinator = coordinator
        self._layout = layout

    def begin(self, id_: str, of: str) -> StoredAnswer | None:
        """Called before the request is executed. None: it is the first; the answer of the first otherwise.

        Args:
            of: `fingerprint` of the request.

        Raises:
            ProcessError: E5074, the key is of another request; E5075, the first has no answer yet; E5076.
        """
        path = self._layout.request(id_)
        for _ in range(3):
            record = self._read(path)
            if record is not None and now_ms() - record.time_ms < KEPT_MS:
                return _answer(record, of)
            if record is not None:
                self.forget(id_)
            self._check_number()
            with contextlib.suppress(NodeExists):
                self._coordinator.create(path, dump(RequestRecord(fingerprint=of, time_ms=now_ms())), parents=True)
                return None
        raise ProcessError("E5075", "other requests use this idempotency key")

    def end(self, id_: str, of: str, status: int, headers: dict[str, str], body: bytes) -> None:
        """Keeps the answer."""
        packed = zlib.compress(body)
        kept = StoredAnswer(status, headers, packed if len(packed) <= _MOST_BODY else zlib.compress(b""))
        record = RequestRecord(fingerprint=of, time_ms=now_ms(), answer=kept)
        self._coordinator.set(self._layout.request(id_), dump(record))

    def forget(self, id_: str) -> None:
        """Of a request that was not executed: it may be repeated."""
        with contextlib.suppress(NodeMissing):
            self._coordinator.delete(self._layout.request(id_))

    def trim(self, kept: int = KEPT) -> None:
        """Removes what is older than a day, and the oldest over `kept`."""
        names = self._names()
        nodes = self._coordinator.get_many([self._layout.request(name) for name in names])
        ages = sorted((node.stat.ctime_ms, name) for name, node in zip(names, nodes, strict=True) if node is not None)
        oldest = now_ms() - KEPT_MS
        over = max(0, len(ages) - kept)
        for number, (time_ms, name) in enumerate(ages):
            if number < over or time_ms < oldest:
                self.forget(name)

    def _check_number(self) -> None:
        stat = self._coordinator.exists(self._layout.requests)
        if stat is not None and stat.children >= MOST:
            raise ProcessError("E5076", "too many idempotency keys are kept", found=str(stat.children))

    def _read(self, path: str) -> RequestRecord | None:
        """Raises CoordinationError E4009, E4010: nothing is known of the request, so that it must not be repeated."""
        try:
            return load(RequestRecord, self._coordinator.get(path).data, path)
        except NodeMissing:
            return None

    def _names(self) -> list[str]:
        try:
            return self._coordinator.children(self._layout.requests)
        except NodeMissing:
            return []


def _answer(record: RequestRecord, of: str) -> StoredAnswer:
    if record.fingerprint != of:
        raise ProcessError("E5074", "the idempotency key was used with another request")
    if record.answer is None:
        found = f"it began {max(0, now_ms() - record.time_ms) // 1000} s ago"
        raise ProcessError("E5075", "the first request with this idempotency key has no answer yet", found=found)
    return record.answer
