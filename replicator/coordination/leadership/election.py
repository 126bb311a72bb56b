"""The election of a task's RUNNING instance: ephemeral sequential nodes, the lowest sequence leads."""

from __future__ import annotations

import contextlib

import msgspec

from replicator.coordination.layout import Layout, parse_contender
from replicator.coordination.ports import Coordinator, Create, Node, Stat, Watcher
from replicator.coordination.records import InstanceRecord, dump, load
from replicator.coordination.tasks.nodes import create_in_task
from replicator.errors import CoordinationError, NodeMissing


class Contender(msgspec.Struct, frozen=True):
    """One instance in the election of a task.

    Attributes:
        sequence: the smallest one is RUNNING.
        czxid: becomes the epoch when it leads.
        owner: session that holds it.
        record: None when its content is not understood; it is a contender all the same.
    """

    name: str
    host: str
    guid: str
    sequence: int
    czxid: int
    owner: int
    record: InstanceRecord | None


class Field(msgspec.Struct, frozen=True):
    """Everything below the election node. `contenders` by rising sequence; `foreign`: names that no version of ours
    wrote or that are not ephemeral. They are ignored, and reported. `names`: of all children, when `parent`, the
    election node's stat, was taken; the contenders were read one by one after that."""

    contenders: tuple[Contender, ...] = ()
    foreign: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    parent: Stat | None = None

    def own(self, guid: str, session: int) -> Contender | None:
        """Ours by guid *and* session: a node of an earlier session of ours is about to vanish. Of several (a create
        whose reply was lost, made again) the first counts."""
        mine = [entry for entry in self.contenders if entry.guid == guid and entry.owner == session]
        return mine[0] if mine else None

    def standing(self, czxid: int) -> Contender | None:
        """Who holds, or held, the term of this epoch."""
        return next((entry for entry in self.contenders if entry.czxid == czxid), None)

    def before(self, contender: Contender) -> Contender | None:
        """The predecessor, the one node that a standby watches."""
        earlier = [entry for entry in self.contenders if entry.sequence < contender.sequence]
        return earlier[-1] if earlier else None


class Election:
    def __init__(self, coordinator: Coordinator, layout: Layout) -> None:
        self._coordinator = coordinator
        self._layout = layout

    def field(self, task: str, watch: Watcher | None = None) -> Field:
        """Who stands. An election node that is not there has nobody."""
        try:
            listing = self._coordinator.listing(self._layout.election(task), watch)
        except NodeMissing:
            return Field()
        contenders, foreign = [], []
        nodes = self._coordinator.get_many([self._layout.contender(task, name) for name in listing.names])
        for name, node in zip(listing.names, nodes, strict=True):
            contender = _contender(name, node)
            if contender is not None:
                contenders.append(contender)
            elif self._coordinator.exists(self._layout.contender(task, name)) is not None:
                foreign.append(name)
        ranked = tuple(sorted(contenders, key=lambda entry: entry.sequence))
        return Field(ranked, tuple(foreign), listing.names, listing.stat)

    def stand(self, task: str, guid: str, record: InstanceRecord) -> None:
        """Joins at the back, unless a node of ours stands already (a create whose reply was lost left it).

        The node is not returned: it is found again by its guid and session in the next `field`, which is also right
        when the reply was lost.

        Raises NodeMissing E5003 (no such task, any more).
        """
        if self.field(task).own(guid, self._coordinator.session_id) is not None:
            return
        prefix = self._layout.contender_prefix(task, record.host, guid)
        node = Create(prefix, dump(record), ephemeral=True, sequential=True)
        create_in_task(self._coordinator, self._layout, task, node)

    def withdraw(self, task: str, guid: str) -> None:
        """Deletes every node of ours."""
        session = self._coordinator.session_id
        for entry in self.field(task).contenders:
            if entry.guid == guid and entry.owner == session:
                self.delete(task, entry.name)

    def delete(self, task: str, name: str) -> None:
        """Fine when it is gone."""
        with contextlib.suppress(NodeMissing):
            self._coordinator.delete(self._layout.contender(task, name))

    def describe(self, task: str, name: str, record: InstanceRecord) -> None:
        """Writes our own node's content anew (its state changed). Fine when it is gone."""
        with contextlib.suppress(NodeMissing):
            self._coordinator.set(self._layout.contender(task, name), dump(record))


def _contender(name: str, node: Node | None) -> Contender | None:
    """None for one that is gone, and for one made by hand with a name like ours: it would never go away by itself."""
    parsed = parse_contender(name)
    if parsed is None or node is None or node.stat.owner == 0:
        return None
    try:
        record = load(InstanceRecord, node.data, name)
    except CoordinationError:
        record = None
    return Contender(name, parsed.host, parsed.guid, parsed.sequence, node.stat.czxid, node.stat.owner, record)
