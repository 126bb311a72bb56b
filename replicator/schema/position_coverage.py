"""Tests whether a statement or another position lies behind a position."""

from __future__ import annotations

from typing import TypeAlias

from replicator.model.gtid import GtidSet, MariaDBPosition
from replicator.model.origin import Origin
from replicator.model.position import Place, Position
from replicator.model.schema_history import SchemaRecord

Identity: TypeAlias = tuple[str, str]


def identity(gtid: str, position: Position, digest: str) -> Identity:
    """Names a statement in the binlog."""
    return gtid or f"{position.file}:{position.offset}", digest


class PositionCoverage:
    """What is behind a position: by GTID where both have one, else by the order of files of one server."""

    def __init__(self, position: Position, *, mariadb: bool) -> None:
        self._position = position
        self._mysql = GtidSet.parse(position.gtid) if position.gtid and not mariadb else None
        self._mariadb = MariaDBPosition.parse(position.gtid) if position.gtid and mariadb else None

    def covers_statement(self, record: SchemaRecord) -> bool:
        """Whether the statement is done at this position."""
        if record.gtid and self._mysql is not None:
            tsid, _, number = record.gtid.rpartition(":")
            return self._mysql.contains(tsid, int(number))
        if record.gtid and self._mariadb is not None:
            domain, _, number = record.gtid.split("-")
            return self._mariadb.contains(int(domain), int(number))
        return record.position.order[:2] < self._position.order[:2]

    def covers_position(self, other: Position) -> bool:
        """Whether `other` is this position or lies before it. Equal GTID sets do not say so: a server that gives no
        GTIDs now shows those that it gave once."""
        if other.gtid and other.gtid != self._position.gtid:
            if self._mysql is not None:
                return GtidSet.parse(other.gtid).subset(self._mysql)
            if self._mariadb is not None:
                return MariaDBPosition.parse(other.gtid).subset(self._mariadb)
        return other.order[:2] <= self._position.order[:2]

    def before(self, other: Position, *, mariadb: bool) -> bool:
        """Whether `other` lies before this position, and is not the same."""
        return self.covers_position(other) and not PositionCoverage(other, mariadb=mariadb).covers_position(
            self._position
        )


def in_another_log(one: Place, other: Position) -> bool:
    """Whether only files could tell how these two places follow each other, and they are of two servers, or of one
    whose binlog was reset in between: a file with a higher number was created earlier."""
    mine, its = Origin.parse(one.server), Origin.parse(other.server)
    if one.gtid and other.gtid:
        return False
    if mine.server and its.server and mine.server != its.server:
        return True
    if not (mine.created and its.created):
        return False
    first, second = Position(one.file, 0).order, Position(other.file, 0).order
    if first == second:
        return mine.created != its.created
    return mine.created > its.created if first < second else mine.created < its.created
