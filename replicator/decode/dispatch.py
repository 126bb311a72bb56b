"""Which handler reads which type of event."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from replicator.decode import events
from replicator.decode.around import Around
from replicator.decode.changes import Changes, Work
from replicator.decode.progress import Flavor

Handler = Callable[[bytes, int, int, int, int], Work]
"""(buffer, first byte of the body, end of the body, timestamp in s, server id); see `Changes`"""

_SKIPPED: Final = (
    events.STOP,
    events.INTVAR,
    events.RAND,
    events.USER_VAR,
    events.IGNORABLE,
    events.TRANSACTION_CONTEXT,
    events.VIEW_CHANGE,
)
"""Without rows and without meaning for them; counted."""


def handlers(changes: Changes, around: Around, skipped: Handler, flavor: Flavor) -> dict[int, Handler]:
    """By event type. `skipped`: of what has no meaning for rows."""
    rows: dict[int, Handler] = {}
    for operation in range(3):  # insert, update, delete
        rows[events.WRITE_ROWS_V1 + operation] = partial(changes.rows_v1, operation=operation)
        rows[events.WRITE_ROWS + operation] = partial(changes.rows_v2, operation=operation)
        zipped = events.MARIADB_WRITE_ROWS_COMPRESSED_V1, events.MARIADB_WRITE_ROWS_COMPRESSED
        rows[zipped[0] + operation] = partial(changes.zipped_rows_v1, operation=operation)
        rows[zipped[1] + operation] = partial(changes.zipped_rows_v2, operation=operation)
    gtids: dict[int, Handler] = {
        events.GTID: changes.mysql_gtid,
        events.ANONYMOUS_GTID: changes.anonymous_gtid,
        events.GTID_TAGGED: changes.tagged_gtid,
    }
    if flavor == "mariadb":  # a set of the one kind has no room for the other kind's
        gtids = {events.MARIADB_GTID: changes.mariadb_gtid}
    return {
        **dict.fromkeys(_SKIPPED, skipped),
        **rows,
        events.TABLE_MAP: changes.table_map,
        events.ROWS_QUERY: changes.rows_query,
        events.MARIADB_ANNOTATE_ROWS: changes.annotate_rows,
        events.XID: changes.xid,
        events.QUERY: changes.query,
        events.PARTIAL_UPDATE_ROWS: changes.partial_rows,
        events.MARIADB_QUERY_COMPRESSED: changes.zipped_query,
        **gtids,
        events.XA_PREPARE: changes.xa_prepare,
        events.INCIDENT: changes.incident,
        events.PREVIOUS_GTIDS: around.previous_gtids,
        events.MARIADB_GTID_LIST: around.gtid_list,
        events.MARIADB_BINLOG_CHECKPOINT: around.checkpoint,
        events.FORMAT_DESCRIPTION: around.format_description,
        events.ROTATE: around.rotate,
        events.HEARTBEAT: around.heartbeat,
        events.HEARTBEAT_V2: around.heartbeat_v2,
        events.MARIADB_START_ENCRYPTION: around.encrypted,
    }
