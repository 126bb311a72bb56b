"""Positions as a configuration has them: where a task begins, and where it ends."""

from __future__ import annotations

from typing import Any

from replicator.model.position import Position


def start_at(position: Position) -> dict[str, Any] | str:
    """`source.start`, with the server that the position is of: on another one a file and an offset mean nothing."""
    if position.begin is not None:
        return position.begin
    if position.topics:
        return {"offsets": {one.topic: list(one.next) for one in position.topics}}
    place: dict[str, Any] = {"file": position.file, "position": position.offset}
    if position.server:
        place["server"] = position.server
    if not position.gtid:
        return place
    return {"gtid": position.gtid, **({"reached": place} if position.server else {})}


def end_at(position: Position) -> dict[str, Any]:
    """`source.until`. With the GTID set it is the same place on each server of a group."""
    place: dict[str, Any] = {"file": position.file, "position": position.offset}
    return {**place, "gtid": position.gtid} if position.gtid else place
