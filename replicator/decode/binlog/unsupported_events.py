"""Errors for events that the decoder does not support, each with the server setting that avoids them."""

from __future__ import annotations

from typing import Final

from replicator.decode.binlog import event_types
from replicator.errors import DecodeError, ReplicatorError
from replicator.model.position import Position, Prepared

_ROW_FORMAT: Final = "SET GLOBAL binlog_format = 'ROW'; then make a new task that starts behind this event."
_REMEDIES: Final[dict[int, str]] = {
    event_types.BEGIN_LOAD_QUERY: _ROW_FORMAT,
    event_types.EXECUTE_LOAD_QUERY: _ROW_FORMAT,
}


def unreadable(kind: int) -> DecodeError:
    """An event type that may not be skipped."""
    return DecodeError(
        "E2301",
        f"{event_types.name(kind)} is not read, and may not be skipped",
        wanted="plain row events",
        fix=_REMEDIES.get(kind, "Exclude what writes it, or use a version that reads it; see docs/errors.md."),
    )


def compression(number: int) -> DecodeError:
    """A transaction compressed in a way that came after MySQL 9.7."""
    return DecodeError(
        "E2301",
        "a transaction is compressed in a way that is not known",
        found=f"compression type {number}",
        wanted="zstd",
        fix="SET GLOBAL binlog_transaction_compression = OFF; reconnect the sessions that set it themselves; then make "
        "a new task that starts behind this transaction.",
    )


def counted_otherwise(position: Position, file: str, start: int) -> DecodeError:
    """A part of the transaction is delivered, and which one is not known any more."""
    return DecodeError(
        "E2313",
        "a part of this transaction was delivered from another server's log, under another configuration or as "
        "messages of whole row events (format: canal): which of its rows these were is unknown",
        found=f"position {position}, and the transaction at {file}:{start}",
        wanted="the configuration of then, or the server of then, until this transaction is over",
        fix="Apply the configuration of before (`replicator task apply`) and change it behind this transaction. Or "
        "`replicator task position set NAME --transaction-start` delivers the transaction again, all of it.",
    )


def gone(prepared: Prepared, error: ReplicatorError) -> DecodeError:
    """The rows of a prepared transaction can't be read again."""
    return DecodeError(
        "E2312",
        f"the rows of XA transaction {prepared.xid}, which is committed here, can't be read again",
        found=f"{prepared.file}:{prepared.offset}: {error.what}",
        wanted="binlog that is kept until the transactions in it are committed or rolled back",
    )


def finished_elsewhere(statement: str) -> DecodeError:
    return DecodeError(
        "E2301",
        "XA COMMIT of a transaction that was prepared before the task's first position: its rows are not known",
        found=statement,
        wanted="a task that begins before the XA PREPARE",
        fix="Create the task again with a `source.start` before the XA PREPARE of this xid (mysqlbinlog and SHOW "
        "BINLOG EVENTS show where it is). Where it changed no table of the task: `replicator task skip NAME`.",
    )


def undone(statement: str) -> DecodeError:
    return DecodeError(
        "E2301",
        f"{statement} of rows that are delivered already",
        wanted="transactions that are committed",
        fix="Re-snapshot the tables that the transaction touched, and make a new task behind it.",
    )


def incident(message: str) -> DecodeError:
    return DecodeError("E2305", "the server lost changes before they reached the binlog", found=message or "no message")


def statement(text: str, target: tuple[str, str] | None) -> DecodeError:
    where = f"of {'.'.join(filter(None, target))}" if target else "of a table that its text does not name"
    return DecodeError(
        "E2303",
        f"rows {where} were changed by a statement that is in the binlog as text",
        found=text[:200],
        wanted="binlog_format = ROW in every session",
        fix="SET GLOBAL binlog_format = 'ROW'; reconnect the sessions; re-snapshot the table and make a new task.",
    )


def structure(what: str, found: str = "") -> DecodeError:
    return DecodeError("E2302", what, found=found, wanted="an undamaged binlog")
