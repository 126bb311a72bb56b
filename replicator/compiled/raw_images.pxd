# Writes row images in the encoding of row events: whole, or put together from some columns of the current row.
#
# The twin: `decode/plan/raw_images.py`.

from libc.stdint cimport uint8_t
from libc.string cimport memcpy, memset

from replicator.compiled.out cimport DECLINED, NO_MEMORY, OK, Out, put, reserve
from replicator.compiled.protobuf cimport unquote
from replicator.compiled.steps cimport COLUMN, COLUMN_TEXT, Cut, Step
from replicator.compiled.values cimport Value, write_value

cdef enum:
    LENGTH = 4  # bytes of the length in front of an image


cdef inline int put_image(Out* out, Cut* image, bint sized) noexcept nogil:
    if reserve(out, image.size + LENGTH) != OK:
        return NO_MEMORY
    if sized:
        _little_at(out.base + out.used, image.size, LENGTH)
        out.used += LENGTH
    memcpy(out.base + out.used, image.at, image.size)
    out.used += image.size
    return OK


cdef inline int put_columns(
    Out* out, Step* step, Step* steps, Cut* cuts, Value* values, Out* json, Out* scratch
) noexcept nogil:
    cdef int count = step.last - step.first
    cdef size_t bitmap = (count + 7) >> 3
    cdef size_t start = out.used
    cdef size_t prefix
    cdef Step* column
    cdef Cut* cut
    cdef int place, status
    if reserve(out, LENGTH + bitmap) != OK:
        return NO_MEMORY
    if step.not_null:
        start += LENGTH
    out.used = start + bitmap
    memset(out.base + start, 0, bitmap)
    if count & 7:
        out.base[start + bitmap - 1] = <char>(0xFF << (count & 7) & 0xFF)
    for place in range(count):
        column = steps + step.first + place
        cut = cuts + column.cut
        if column.kind == COLUMN and cut.at != NULL:
            prefix = column.first
            status = put(out, cut.at - prefix, prefix + cut.size)
        elif column.kind == COLUMN_TEXT and cut.at != NULL:
            status = _text(out, column, cut, values + column.value, json, scratch)
        else:
            out.base[start + (place >> 3)] = <char>(<uint8_t>out.base[start + (place >> 3)] | 1 << (place & 7))
            status = OK
        if status != OK:
            return status
    if step.not_null:
        _little_at(out.base + start - LENGTH, out.used - start, LENGTH)
    return OK


cdef inline int _text(Out* out, Step* column, Cut* cut, Value* value, Out* json, Out* scratch) noexcept nogil:
    """Another value than the one of the row, behind its length."""
    cdef bint null
    cdef int status
    json.used = 0
    status = write_value(json, value, cut.at, cut.size, scratch)
    if status == OK:
        status = unquote(json, &null)
    if status != OK:
        return DECLINED if status > OK else status
    if null or json.used >> 8 * column.first:
        return DECLINED
    if reserve(out, LENGTH + json.used) != OK:
        return NO_MEMORY
    _little_at(out.base + out.used, json.used, column.first)
    out.used += column.first
    return put(out, json.base, json.used)


cdef inline void _little_at(char* o, size_t value, int size) noexcept nogil:
    cdef int at
    for at in range(size):
        o[at] = <char>(value >> 8 * at & 0xFF)
