# Writes long values piece by piece, and gives back the memory of each piece once it is written.

from libc.stdint cimport uint8_t

from replicator.compiled.codes cimport BASE64, HEX, LATIN1, TEXT_UTF8
from replicator.compiled.out cimport OK, Out
from replicator.compiled.pages cimport release_pages
from replicator.compiled.quoted cimport is_utf8
from replicator.compiled.values cimport Value, write_value

cdef enum:
    SLICE = 1572864  # bytes, a multiple of the three that Base64 takes at a time


cdef inline bint sliceable(Value* value, const uint8_t* p, size_t size) noexcept nogil:
    """Whether its text is that of its pieces, and nothing but memory can be missing for it."""
    if value.writer == TEXT_UTF8:
        return is_utf8(p, size)
    return (value.writer == BASE64 or value.writer == HEX or value.writer == LATIN1) and value.a == 0


cdef inline int put_sliced(Out* out, Value* value, const uint8_t* p, size_t size, Out* scratch) noexcept nogil:
    """A value that is `sliceable`, as `write_value` writes it. Its bytes are gone afterwards."""
    cdef const uint8_t* end = p + size
    cdef const uint8_t* behind
    cdef bint first = True
    cdef char kept = 0
    cdef size_t at = 0
    cdef int status
    while p < end:
        behind = end if end - p <= SLICE else p + SLICE
        while value.writer == TEXT_UTF8 and behind < end and behind[0] & 0xC0 == 0x80:
            behind -= 1
        if not first:
            # Its opening quote goes where the last character is, so that the next ones follow that one.
            at = out.used - 2
            kept = out.base[at]
            out.used = at
        status = write_value(out, value, p, behind - p, scratch)
        if status != OK:
            return status
        if not first:
            out.base[at] = kept
        release_pages(p, behind - p)
        p, first = behind, False
    return OK
