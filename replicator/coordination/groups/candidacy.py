"""What the group of a Core says of one task: whether the Core takes part in its election, and to whom it hands over.

It decides only who takes part. Who runs is decided by the election and its fencing, so that a Core whose view is late,
or that was started with another group, causes an extra hand-over at most.
"""

from __future__ import annotations

import msgspec


class Candidacy(msgspec.Struct, frozen=True):
    """Attributes:
    group: of this Core, "" for none.
    hosts: members that the task is placed on, the preferred one first; () for none, or a task of another group.
    own: this Core is one of them.
    pinned: operators want the first of them to run the task.
    draining: operators want this Core to have no tasks.
    may_move: it is the turn of this task to be handed over, if that is wanted.
    ended: sessions that are proven to have ended.
    """

    group: str = ""
    hosts: tuple[str, ...] = ()
    own: bool = False
    pinned: bool = False
    draining: bool = False
    may_move: bool = False
    ended: frozenset[int] = frozenset()

    def stands(self, group: str | None) -> bool:
        """Whether the Core is to be in the election of a task of `group`; None: its configuration can't be read."""
        if self.group:
            return self.own and group in (self.group, None)
        return not group and not self.draining
