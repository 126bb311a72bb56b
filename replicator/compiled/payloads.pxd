# The body of a TRANSACTION_PAYLOAD event: what is compressed in it, and whether that is whole events.

from libc.stdint cimport int64_t, uint8_t

from replicator.compiled.out cimport little

cdef enum:
    HEADER = 19  # bytes in front of an event's body


cdef inline const uint8_t* compressed_part(
    const uint8_t* p, const uint8_t* end, int64_t* size, bint* stored
) noexcept nogil:
    """What is compressed with zstd, or `stored`, in the body of an event, and its size without; NULL where that is not
    known. See `decode.binlog.transaction_payload`: fields 1 its size, 2 how it is compressed, 3 the size without."""
    cdef int64_t fields[4]
    cdef int kind, length
    fields[1] = fields[2] = fields[3] = -1
    while end - p > 2 and p[0] != 0:
        kind, length = p[0], p[1]
        p += 2
        if kind > 3 or fields[kind] >= 0 or end - p < length:
            return NULL
        if length == 1 and p[0] < 251:
            fields[kind] = p[0]
        elif (length == 3 and p[0] == 252) or (length == 4 and p[0] == 253):
            fields[kind] = <int64_t>little(p + 1, length - 1)
        else:
            return NULL
        p += length
    if end - p < 2 or p[0] != 0 or fields[1] != end - p - 1 or (fields[2] != 0 and fields[2] != 255):
        return NULL
    stored[0] = fields[2] == 255
    size[0] = fields[1] if stored[0] else fields[3]
    return p + 1 if size[0] > 0 else NULL


cdef inline bint only_events(const uint8_t* base, Py_ssize_t size) noexcept nogil:
    cdef Py_ssize_t at = 0
    cdef Py_ssize_t length
    while size - at >= HEADER:
        length = <Py_ssize_t>little(base + at + 9, 4)
        if not HEADER <= length <= size - at:
            return False
        at += length
    return at == size
