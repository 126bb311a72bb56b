"""Compares two positions: by GTID sets if both have them, by offsets in topics, otherwise by file and offset on one
server."""

from __future__ import annotations

from typing import Literal, TypeAlias

from replicator.model.gtid import GtidSet, MariaDBPosition
from replicator.model.origin import Origin
from replicator.model.position import Position
from replicator.model.topic_offsets import distance, relation

Relation: TypeAlias = Literal["behind", "same", "ahead", "unknown"]


def compared(one: Position, other: Position) -> Relation:
    """Where `one` is, seen from `other`. What is to be caught up with (`catch_up`) is left aside.

    The position that was ordered later (`Position.reset`) is ahead, wherever it is. "unknown": each GTID set has
    transactions that the other one has not, or file names of two servers would have to be compared.
    """
    if one.reset != other.reset:
        return _sign(one.reset - other.reset)
    if one.topics or other.topics:
        return relation(one.topics, other.topics) if one.topics and other.topics else "unknown"
    by_sets = _by_sets(one.gtid, other.gtid)
    if by_sets != "same":
        return by_sets
    by_place = _by_place(one, other)
    if by_place == "unknown" and one.gtid and other.gtid:
        return _by_rows(one, other)  # the same transactions, and the next one, on two servers
    return _by_rows(one, other) if by_place == "same" else by_place


def reached(position: Position, goal: Position) -> bool:
    """Whether `position` is `goal`, or behind it. On another server of the group only GTIDs tell."""
    if goal.topics:
        left = distance(position.topics, goal.topics)
        return left is not None and left[1] == 0
    mine, its = position.gtid, goal.gtid
    if not mine or not its:
        return position.order >= goal.order
    if ":" in its:
        return mine == its or GtidSet.parse(its).subset(GtidSet.parse(mine))
    return mine == its or MariaDBPosition.parse(its).subset(MariaDBPosition.parse(mine))


def _by_sets(one: str, other: str) -> Relation:
    """ "same" also where one of the two has no GTIDs."""
    if not one or not other or one == other:
        return "same"
    if ":" in one and ":" in other:
        mine, theirs = GtidSet.parse(one), GtidSet.parse(other)
        return _by_inclusion(mine.subset(theirs), theirs.subset(mine))
    if ":" in one or ":" in other:
        return "unknown"
    ours, its = MariaDBPosition.parse(one), MariaDBPosition.parse(other)
    found = _by_inclusion(ours.subset(its), its.subset(ours))
    return "unknown" if found == "same" and ours != its else found  # one number, written by two servers


def _by_inclusion(inside: bool, around: bool) -> Relation:
    if inside:
        return "same" if around else "behind"
    return "ahead" if around else "unknown"


def _by_place(one: Position, other: Position) -> Relation:
    if (one.file, one.offset) == (other.file, other.offset):
        return "same"
    if one.log != other.log or _of_two_logs(
        Origin.parse(one.server), Origin.parse(other.server), one.file == other.file
    ):
        return "unknown"
    return "behind" if one.order[:2] < other.order[:2] else "ahead"


def _of_two_logs(one: Origin, other: Origin, one_name: bool) -> bool:
    """Of two servers; or, with `one_name`, of two files that one server gave the same name."""
    if one.server and other.server and one.server != other.server:
        return True
    return one_name and bool(one.created and other.created) and one.created != other.created


def _by_rows(one: Position, other: Position) -> Relation:
    """Inside the same transaction."""
    if one.rows == other.rows == 0 or one == other:
        return "same"
    if not one.rows or not other.rows:
        return _sign(one.rows - other.rows)
    mine, theirs = one.inside, other.inside
    if (mine.rule if mine else "") == (theirs.rule if theirs else ""):
        return _sign(one.rows - other.rows)
    if mine is None or theirs is None or (one.file, one.offset) != (other.file, other.offset):
        return "unknown"
    return _sign(mine.event - theirs.event)


def _sign(difference: int) -> Relation:
    return "behind" if difference < 0 else "ahead" if difference > 0 else "same"
