"""Fills in record fields that are known only at the end of a transaction (`plan.Deferred`)."""

from libc.stdint cimport int64_t, uint64_t
from cpython.bytes cimport PyBytes_AS_STRING

from replicator.compiled.arena cimport MOST_PIECES, DeferredPieces
from replicator.compiled.moments cimport Moment
from replicator.compiled.out cimport DECLINED, OK, Out, put, put_unsigned

ABI = 14

_DEFERRED_KINDS = {
    "xid": DEFERRED_XID, "end_pos": DEFERRED_END_POS, "gtid": DEFERRED_GTID, "file": DEFERRED_FILE,
    "server_id": DEFERRED_SERVER_ID, "thread": DEFERRED_THREAD, "offset": DEFERRED_OFFSET, "order": DEFERRED_ORDER,
}


cdef class DeferredProgram:
    """`decode.plan.deferred_fields.DeferredText`: steps are bytes, (name of a variable, text in front of it or None).

    Attributes:
        text: what it is made of.
    """

    def __init__(self, text, row, last):
        self.text = text
        self.kept = []
        self._fill(&self.row, row)
        self._fill(&self.last, last)

    cdef _fill(self, DeferredSteps* steps, parts):
        cdef DeferredStep* step
        if len(parts) > MOST_STEPS:
            raise ValueError("many steps")
        for part in parts:
            step = steps.steps + steps.count
            step.kind = LITERAL
            literal = part
            if isinstance(part, tuple):
                step.kind = _DEFERRED_KINDS[part[0]]
                literal, step.optional = part[1] or b"", part[1] is not None
            self.kept.append(literal)
            step.text, step.size = PyBytes_AS_STRING(literal), len(literal)
            steps.count += 1


cdef int _deferred_text(
    DeferredSteps* steps, DeferredPieces* text, Out* out, const char* gtid, size_t gtid_size, Moment* moment,
    uint64_t xid, int64_t end_pos, int64_t server_id, int64_t thread,
) noexcept nogil:
    """Leaves offsets into `out` where pointers belong: it may still move."""
    cdef DeferredStep* step
    cdef int index, kind, status
    cdef bint null
    cdef size_t start = out.used
    text.count = 1
    for index in range(steps.count):
        step = steps.steps + index
        kind = step.kind
        null = (kind == DEFERRED_GTID and gtid_size == 4) or (kind == DEFERRED_THREAD and thread < 0)
        if step.optional and null:
            continue
        status = put(out, step.text, step.size)
        if status == OK:
            if null:
                status = put(out, "null", 4)
            elif kind == DEFERRED_XID:
                status = put_unsigned(out, xid)
            elif kind == DEFERRED_END_POS:
                status = put_unsigned(out, <uint64_t>end_pos)
            elif kind == DEFERRED_GTID:
                status = put(out, gtid, gtid_size)
            elif kind == DEFERRED_FILE:
                status = put(out, moment.file, moment.file_size)
            elif kind == DEFERRED_SERVER_ID:
                status = put_unsigned(out, <uint64_t>server_id)
            elif kind == DEFERRED_THREAD:
                status = put_unsigned(out, <uint64_t>thread)
            elif kind == DEFERRED_OFFSET or kind == DEFERRED_ORDER:
                if text.count == MOST_PIECES:
                    return DECLINED
                text.pieces[text.count - 1] = <const char*>start
                text.sizes[text.count - 1] = out.used - start
                text.add[text.count - 1] = 1 if kind == DEFERRED_ORDER else 0
                text.count += 1
                start = out.used
        if status != OK:
            return status
    text.pieces[text.count - 1] = <const char*>start
    text.sizes[text.count - 1] = out.used - start
    return OK


cdef int _complete_deferred(
    DeferredProgram program, DeferredPieces* row, DeferredPieces* last, Out* out, Moment* moment, const char* gtid,
    size_t gtid_size, uint64_t xid, int64_t end_pos, int64_t server_id, int64_t thread,
) noexcept nogil:
    """The texts of a transaction."""
    cdef int index
    out.used = 0
    if (
        _deferred_text(&program.row, row, out, gtid, gtid_size, moment, xid, end_pos, server_id, thread) != OK
        or _deferred_text(&program.last, last, out, gtid, gtid_size, moment, xid, end_pos, server_id, thread) != OK
    ):
        return DECLINED
    for index in range(row.count):
        row.pieces[index] = out.base + <size_t>row.pieces[index]
    for index in range(last.count):
        last.pieces[index] = out.base + <size_t>last.pieces[index]
    return OK


complete_deferred = <CompleteDeferred><void*>_complete_deferred
