"""Maps event types to their handlers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from replicator.decode.binlog import event_types
from replicator.decode.transactions.control_events import ControlEvents
from replicator.decode.transactions.progress import Flavor
from replicator.decode.transactions.transaction_events import TransactionEvents, Work

Handler = Callable[[bytes, int, int, int, int], Work]
"""(buffer, first byte of the body, end of the body, timestamp in s, server id); see `TransactionEvents`"""

_SKIPPED: Final = (
    event_types.STOP,
    event_types.INTVAR,
    event_types.RAND,
    event_types.USER_VAR,
    event_types.IGNORABLE,
    event_types.TRANSACTION_CONTEXT,
    event_types.VIEW_CHANGE,
)
"""Without rows and without meaning for them; counted."""


def handlers(changes: TransactionEvents, around: ControlEvents, skipped: Handler, flavor: Flavor) -> dict[int, Handler]:
    """By event type. `skipped`: of what has no meaning for rows."""
    rows: dict[int, Handler] = {}
    for operation in range(3):  # insert, update, delete
        rows[event_types.WRITE_ROWS_V1 + operation] = partial(changes.rows_v1, operation=operation)
        rows[event_types.WRITE_ROWS + operation] = partial(changes.rows_v2, operation=operation)
        zipped = event_types.MARIADB_WRITE_ROWS_COMPRESSED_V1, event_types.MARIADB_WRITE_ROWS_COMPRESSED
        rows[zipped[0] + operation] = partial(changes.compressed_rows_v1, operation=operation)
        rows[zipped[1] + operation] = partial(changes.compressed_rows_v2, operation=operation)
    gtids: dict[int, Handler] = {
        event_types.GTID: changes.mysql_gtid,
        event_types.ANONYMOUS_GTID: changes.anonymous_gtid,
        event_types.GTID_TAGGED: changes.tagged_gtid,
    }
    if flavor == "mariadb":  # a set of the one kind has no room for the other kind's
        gtids = {event_types.MARIADB_GTID: changes.mariadb_gtid}
    return {
        **dict.fromkeys(_SKIPPED, skipped),
        **rows,
        event_types.TABLE_MAP: changes.table_map,
        event_types.ROWS_QUERY: changes.rows_query,
        event_types.MARIADB_ANNOTATE_ROWS: changes.annotate_rows,
        event_types.XID: changes.xid,
        event_types.QUERY: changes.query,
        event_types.PARTIAL_UPDATE_ROWS: changes.partial_rows,
        event_types.MARIADB_QUERY_COMPRESSED: changes.compressed_query,
        **gtids,
        event_types.XA_PREPARE: changes.xa_prepare,
        event_types.INCIDENT: changes.incident,
        event_types.PREVIOUS_GTIDS: around.previous_gtids,
        event_types.MARIADB_GTID_LIST: around.gtid_list,
        event_types.MARIADB_BINLOG_CHECKPOINT: around.checkpoint,
        event_types.FORMAT_DESCRIPTION: around.format_description,
        event_types.ROTATE: around.rotate,
        event_types.HEARTBEAT: around.heartbeat,
        event_types.HEARTBEAT_V2: around.heartbeat_v2,
        event_types.MARIADB_START_ENCRYPTION: around.encrypted,
    }
