"""Skips the transaction that a task has failed at: finds it and computes the checkpoint after it. Pure."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from replicator.coordination.tasks.position_changes import PositionChange
from replicator.errors import ProcessError, ReplicatorError, SourceError
from replicator.model.checkpoint import Checkpoint
from replicator.model.gtid import GtidSet, MariaDBPosition
from replicator.model.position import Position


def skip(
    task: str, before: Checkpoint | None, error: Mapping[str, str] | None, asked: str, mariadb: bool
) -> PositionChange:
    """The move past the transaction of `error`.

    Args:
        error: with which the task is FAILED; None: it is not known.
        asked: the transaction that the operator named, as in `ReplicatorError.transaction`; "": the one of the error.

    Raises:
        ProcessError: E5016, the error is not of one transaction, or not of the one that was asked for; E5007, the
            transaction is behind the position already, or there is no position.
        SourceError: E2209, a GTID that can't be read, or the end of the transaction is not known.
    """
    transaction = (error or {}).get("transaction", "")
    if error is None or not transaction:
        raise _not_one(task, error)
    if asked and not _same(asked, transaction, mariadb):
        raise ProcessError(
            "E5016",
            f"'{task}' did not fail at the transaction to skip",
            found=asked[:100],
            wanted=f"{transaction}, at which {error.get('code', '')} occurred",
            position=error.get("position", ""),
        )
    if before is None:
        raise ProcessError(
            "E5007", f"'{task}' has no position yet", fix="Start the task once, so that it has a position."
        )
    end = error.get("transaction_end", "")
    position = msgspec.structs.replace(
        _past(task, before.position, transaction, end, mariadb), reset=before.position.reset + 1
    )
    after = msgspec.structs.replace(before, position=position, source_ms=0, in_sink=None)
    return PositionChange(before, after, "forward", skips=f"1 transaction: {transaction}")


def _not_one(task: str, error: Mapping[str, str] | None) -> ProcessError:
    found = "no recorded error" if error is None else f"{error.get('code', '')} {error.get('what', '')}"
    return ProcessError(
        "E5016",
        f"the error of '{task}' does not concern a single transaction",
        found=found,
        wanted="an error that names its transaction",
        fix=f"Correct the cause: see `replicator task describe {task}`.",
    )


def _same(asked: str, transaction: str, mariadb: bool) -> bool:
    """Whatever the letters and blanks of a GTID."""
    if asked.strip() == transaction:
        return True
    if mariadb:
        return False
    try:
        one = GtidSet.parse(asked)
        return bool(one) and str(one) == str(GtidSet.parse(transaction))
    except SourceError:
        return False


def _past(task: str, position: Position, transaction: str, end: str, mariadb: bool) -> Position:
    """What was left out of a table has a position of its own while it is delivered."""
    replace, catch_up = msgspec.structs.replace, position.catch_up
    if catch_up is not None and not catch_up.done:
        at = _beyond(task, catch_up.at, transaction, end, mariadb)
        return replace(position, catch_up=replace(catch_up, at=at))
    return _beyond(task, position, transaction, end, mariadb)


def _beyond(task: str, position: Position, transaction: str, end: str, mariadb: bool) -> Position:
    if position.gtid and not _is_place(transaction):
        executed = _with(position.gtid, transaction, mariadb)
        if executed == "":
            raise _passed(task, transaction)
        return msgspec.structs.replace(position.transaction_start, gtid=executed)
    if not end:
        raise SourceError(
            "E2209",
            f"the binlog of the source does not show where transaction {transaction} ends",
            found=f"{transaction}, without a GTID",
            wanted="GTIDs, or MySQL 8.0 or later",
            fix=f"`mysqlbinlog -v` shows the offset after it; then `replicator task position set {task} --file FILE "
            "--offset OFFSET`.",
        )
    file, _, offset = end.rpartition(":")
    if Position(file, int(offset)).order <= position.transaction_start.order:
        raise _passed(task, transaction)
    return msgspec.structs.replace(position.transaction_start, file=file, offset=int(offset))


def _is_place(transaction: str) -> bool:
    """`file:offset`, and not a GTID: those of MySQL begin with a UUID, those of MariaDB have no colon."""
    head, colon, _ = transaction.partition(":")
    return bool(colon) and "." in head


def _with(executed: str, gtid: str, mariadb: bool) -> str:
    """The set with one GTID more; "" when it has it already."""
    if mariadb:
        domain, server, sequence = map(int, gtid.split("-"))
        position = MariaDBPosition.parse(executed)
        if position.contains(domain, sequence):
            return ""
        position.add(domain, server, sequence)
        return str(position)
    one, present = GtidSet.parse(gtid), GtidSet.parse(executed)
    return "" if one.subset(present) else str(present.union(one))


def _passed(task: str, transaction: str) -> ReplicatorError:
    return ProcessError(
        "E5007",
        f"the position of '{task}' is already after transaction {transaction}",
        fix="If it belongs to a table whose rows are being replayed: "
        f"`replicator task quarantine {task} DATABASE.TABLE`.",
    )
