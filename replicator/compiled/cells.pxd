# Writes the columns of Canal's protobuf rows from the current row, and decides whether they have changed.

from libc.string cimport memcmp

from replicator.compiled.out cimport DECLINED, OK, Out, little
from replicator.compiled.protobuf cimport Cell, put_column, unquote
from replicator.compiled.steps cimport ALWAYS_CHANGED, Cut, Step
from replicator.compiled.values cimport Value, write_value


cdef inline bint differ(Cut* one, Cut* other) noexcept nogil:
    if one.at == NULL or other.at == NULL:
        return one.at != other.at
    return one.size != other.size or memcmp(one.at, other.at, one.size) != 0


cdef inline int put_cell(
    Out* out, Step* step, Cut* cuts, Cell* cell, Value* value, Out* text, Out* other_text, Out* scratch
) noexcept nogil:
    """text, other_text: for the value and the one that it is compared with."""
    cdef Cut* cut = cuts + step.cut
    cdef Cut* other
    cdef bint null, other_null
    cdef bint changed = step.before == ALWAYS_CHANGED
    cdef int status = _text(text, cut, value, &null, scratch)
    if status != OK:
        return status
    if step.before >= 0:
        other = cuts + step.before
        if differ(cut, other):
            status = _text(other_text, other, value, &other_null, scratch)
            if status != OK:
                return status
            changed = null != other_null or text.used != other_text.used
            if not changed and not null:
                changed = memcmp(text.base, other_text.base, text.used) != 0
    return put_column(
        out, cell, step.text, step.size, changed,
        cell.varies and not null and little(cut.at, <int>cut.size) > cell.limit, NULL if null else text,
    )


cdef inline int _text(Out* out, Cut* cut, Value* value, bint* null, Out* scratch) noexcept nogil:
    """Of a value that is a string in JSON."""
    cdef int status
    out.used = 0
    null[0] = cut.at == NULL
    if cut.at == NULL:
        return OK
    status = write_value(out, value, cut.at, cut.size, scratch)
    if status == OK:
        status = unquote(out, null)
    return DECLINED if status > OK else status
