"""Fields that are known only when a transaction ends (`plan.Deferred`), as steps."""

from libc.stdint cimport int64_t, uint64_t
from cpython.bytes cimport PyBytes_AS_STRING

from replicator.compiled.arena cimport MOST_PIECES, LateText
from replicator.compiled.moments cimport Moment
from replicator.compiled.out cimport DECLINED, OK, Out, put, put_unsigned

ABI = 7

_LATE_KINDS = {
    "xid": LATE_XID, "end_pos": LATE_END_POS, "gtid": LATE_GTID, "file": LATE_FILE, "server_id": LATE_SERVER_ID,
    "thread": LATE_THREAD, "offset": LATE_OFFSET, "order": LATE_ORDER,
}


cdef class LateProgram:
    """`decode.plan.deferred_fields.DeferredText`: steps are bytes, (name of a variable, text in front of it or None).

    Attributes:
        late: what it is made of.
    """

    def __init__(self, late, row, last):
        self.late = late
        self.kept = []
        self._fill(&self.row, row)
        self._fill(&self.last, last)

    cdef _fill(self, LateSteps* steps, parts):
        cdef LateStep* step
        if len(parts) > MOST_STEPS:
            raise ValueError("many steps")
        for part in parts:
            step = steps.steps + steps.count
            step.kind = LITERAL
            text = part
            if isinstance(part, tuple):
                step.kind = _LATE_KINDS[part[0]]
                text, step.optional = part[1] or b"", part[1] is not None
            self.kept.append(text)
            step.text, step.size = PyBytes_AS_STRING(text), len(text)
            steps.count += 1


cdef int _late_text(
    LateSteps* steps, LateText* text, Out* out, const char* gtid, size_t gtid_size, Moment* moment, uint64_t xid,
    int64_t end_pos, int64_t server_id, int64_t thread,
) noexcept nogil:
    """Leaves offsets into `out` where pointers belong: it may still move."""
    cdef LateStep* step
    cdef int index, kind, status
    cdef bint null
    cdef size_t start = out.used
    text.count = 1
    for index in range(steps.count):
        step = steps.steps + index
        kind = step.kind
        null = (kind == LATE_GTID and gtid_size == 4) or (kind == LATE_THREAD and thread < 0)
        if step.optional and null:
            continue
        status = put(out, step.text, step.size)
        if status == OK:
            if null:
                status = put(out, "null", 4)
            elif kind == LATE_XID:
                status = put_unsigned(out, xid)
            elif kind == LATE_END_POS:
                status = put_unsigned(out, <uint64_t>end_pos)
            elif kind == LATE_GTID:
                status = put(out, gtid, gtid_size)
            elif kind == LATE_FILE:
                status = put(out, moment.file, moment.file_size)
            elif kind == LATE_SERVER_ID:
                status = put_unsigned(out, <uint64_t>server_id)
            elif kind == LATE_THREAD:
                status = put_unsigned(out, <uint64_t>thread)
            elif kind == LATE_OFFSET or kind == LATE_ORDER:
                if text.count == MOST_PIECES:
                    return DECLINED
                text.pieces[text.count - 1] = <const char*>start
                text.sizes[text.count - 1] = out.used - start
                text.add[text.count - 1] = 1 if kind == LATE_ORDER else 0
                text.count += 1
                start = out.used
        if status != OK:
            return status
    text.pieces[text.count - 1] = <const char*>start
    text.sizes[text.count - 1] = out.used - start
    return OK


cdef int _complete_late(
    LateProgram program, LateText* row, LateText* last, Out* out, Moment* moment, const char* gtid, size_t gtid_size,
    uint64_t xid, int64_t end_pos, int64_t server_id, int64_t thread,
) noexcept nogil:
    """The texts of a transaction."""
    cdef int index
    out.used = 0
    if (
        _late_text(&program.row, row, out, gtid, gtid_size, moment, xid, end_pos, server_id, thread) != OK
        or _late_text(&program.last, last, out, gtid, gtid_size, moment, xid, end_pos, server_id, thread) != OK
    ):
        return DECLINED
    for index in range(row.count):
        row.pieces[index] = out.base + <size_t>row.pieces[index]
    for index in range(last.count):
        last.pieces[index] = out.base + <size_t>last.pieces[index]
    return OK


complete_late = <CompleteLate><void*>_complete_late
