"""Silences in ZooKeeper: written by the Server, read by every Monitor. What is over is removed with the next write, and
by the master Server."""

from __future__ import annotations

import contextlib
import secrets

from replicator.alerts.silence import ID, MOST, Matchers, Silence, check
from replicator.coordination.alert_records import SilenceRecord
from replicator.coordination.clock import now_ms
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import dump, load
from replicator.errors import CoordinationError, NodeMissing, ProcessError

KEPT_MS = 60_000
"""After their end, for hosts whose clocks are behind."""


class Silences:
    """Thread-safe. Every method raises NotConnected while ZooKeeper is away."""

    def __init__(self, coordinator: Coordinator, layout: Layout) -> None:
        self._coordinator = coordinator
        self._layout = layout

    def list(self) -> list[Silence]:
        """In the order of their ends, also those that are over. What can't be read is left out."""
        try:
            children = [child for child in self._coordinator.children(self._layout.silences) if ID.fullmatch(child)]
        except NodeMissing:
            return []
        paths = [self._layout.silence(child) for child in children]
        nodes = self._coordinator.get_many(paths) if paths else []
        found = []
        for child, path, node in zip(children, paths, nodes, strict=True):
            with contextlib.suppress(CoordinationError):
                if node is not None:
                    found.append(_silence(child, load(SilenceRecord, node.data, path)))
        return sorted(found, key=lambda each: (each.until_ms, each.id))

    def read(self, id_: str) -> Silence:
        """Raises ProcessError E5184."""
        try:
            if ID.fullmatch(id_) is None:
                raise _unknown(id_)
            path = self._layout.silence(id_)
            return _silence(id_, load(SilenceRecord, self._coordinator.get(path).data, path))
        except NodeMissing:
            raise _unknown(id_) from None

    def add(self, matchers: Matchers, seconds: int, by: str, reason: str) -> Silence:
        """Raises ProcessError E5185."""
        check(matchers, seconds, reason)
        self.trim()
        if len(self.list()) >= MOST:
            raise ProcessError("E5185", "there are too many silences", found=str(MOST), wanted=f"fewer than {MOST}")
        now = now_ms()
        record = SilenceRecord(
            rule=matchers.rule,
            task=matchers.task,
            machine=matchers.machine,
            labels=matchers.labels,
            until_ms=now + seconds * 1000,
            by=by,
            reason=reason,
            created_ms=now,
        )
        id_ = secrets.token_hex(6)
        self._coordinator.create(self._layout.silence(id_), dump(record), parents=True)
        return _silence(id_, record)

    def remove(self, id_: str) -> None:
        """Raises ProcessError E5184."""
        try:
            if ID.fullmatch(id_) is None:
                raise _unknown(id_)
            self._coordinator.delete(self._layout.silence(id_))
        except NodeMissing:
            raise _unknown(id_) from None

    def trim(self) -> None:
        """Removes what is over."""
        for each in self.list():
            if each.until_ms + KEPT_MS < now_ms():
                with contextlib.suppress(NodeMissing):
                    self._coordinator.delete(self._layout.silence(each.id))


def _silence(id_: str, record: SilenceRecord) -> Silence:
    matchers = Matchers(rule=record.rule, task=record.task, machine=record.machine, labels=record.labels)
    return Silence(
        id=id_,
        matchers=matchers,
        until_ms=record.until_ms,
        by=record.by,
        reason=record.reason,
        created_ms=record.created_ms,
    )


def _unknown(id_: str) -> ProcessError:
    return ProcessError("E5184", f"there is no silence '{id_[:40]}'", fix="`replicator alert silences` lists them.")
