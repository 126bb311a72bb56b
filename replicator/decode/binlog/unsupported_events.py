"""Errors for events that the decoder does not support, each with the server setting that avoids them."""

from __future__ import annotations

from typing import Final

from replicator.decode.binlog import event_types
from replicator.errors import DecodeError, ReplicatorError
from replicator.model.position import Position, Prepared

_ROW_FORMAT: Final = "SET GLOBAL binlog_format = 'ROW'; then create a new task that starts after this event."
_REMEDIES: Final[dict[int, str]] = {
    event_types.BEGIN_LOAD_QUERY: _ROW_FORMAT,
    event_types.EXECUTE_LOAD_QUERY: _ROW_FORMAT,
}


def unreadable(kind: int) -> DecodeError:
    """An event type that may not be skipped."""
    return DecodeError(
        "E2301",
        f"{event_types.name(kind)} is not supported, and can't be skipped safely",
        wanted="plain row events",
        fix=_REMEDIES.get(kind, "Avoid such events, or use a version that supports them; see `replicator docs E2301`."),
    )


def compression(number: int) -> DecodeError:
    """A transaction compressed in a way that came after MySQL 9.7."""
    return DecodeError(
        "E2301",
        "unknown compression of a transaction",
        found=f"compression type {number}",
        wanted="zstd",
        fix="SET GLOBAL binlog_transaction_compression = OFF; reconnect the sessions that set it themselves; "
        "then create "
        "a new task that starts after this transaction.",
    )


def counted_otherwise(position: Position, file: str, start: int) -> DecodeError:
    """A part of the transaction is delivered, and which one is not known any more."""
    return DecodeError(
        "E2313",
        "a part of this transaction was delivered from the binlog of another server, with another configuration or as "
        "messages of whole row events (format: canal): it is unknown which of its rows these were",
        found=f"position {position}, and the transaction at {file}:{start}",
        wanted="the earlier configuration or server until the end of this transaction",
        fix="Apply the earlier configuration (`replicator task apply`) and change it after this transaction. Or "
        "`replicator task position set NAME --transaction-start` delivers the whole transaction again.",
    )


def gone(prepared: Prepared, error: ReplicatorError) -> DecodeError:
    """The rows of a prepared transaction can't be read again."""
    return DecodeError(
        "E2312",
        f"the rows of XA transaction {prepared.xid}, which is committed here, can't be read",
        found=f"{prepared.file}:{prepared.offset}: {error.what}",
        wanted="binlog from the XA PREPARE on, kept until XA COMMIT or XA ROLLBACK",
    )


def finished_elsewhere(statement: str) -> DecodeError:
    return DecodeError(
        "E2301",
        "XA COMMIT of a transaction that was prepared before the first position of the task: its rows are unknown",
        found=statement,
        wanted="a task that begins before the XA PREPARE",
        fix="Create the task again with a `source.start` before the XA PREPARE of this xid (mysqlbinlog and SHOW "
        "BINLOG EVENTS show where it is). If it changed no table of the task: `replicator task skip NAME`.",
    )


def undone(statement: str) -> DecodeError:
    return DecodeError(
        "E2301",
        f"{statement} of rows that were already delivered",
        wanted="only committed transactions",
        fix="Take a new snapshot of the tables that the transaction changed, and create a new task that starts "
        "after it.",
    )


def incident(message: str) -> DecodeError:
    return DecodeError(
        "E2305", "the server lost changes before they were written to the binlog", found=message or "no message"
    )


def statement(text: str, target: tuple[str, str] | None) -> DecodeError:
    where = f"of {'.'.join(filter(None, target))}" if target else "of an unidentified table"
    return DecodeError(
        "E2303",
        f"rows {where} were changed by a statement that was logged as text",
        found=text[:200],
        wanted="binlog_format = ROW in every session",
        fix="SET GLOBAL binlog_format = 'ROW'; reconnect the sessions; take a new snapshot of the table and "
        "create a new task.",
    )


def structure(what: str, found: str = "") -> DecodeError:
    return DecodeError("E2302", what, found=found, wanted="an undamaged binlog")
