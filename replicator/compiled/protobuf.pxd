# Writes parts of protobuf messages: fields of variables, and columns of Canal's rows.

from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcmp, memcpy, memmove

from replicator.compiled.avro cimport Leaf, unescaped_at
from replicator.compiled.codes cimport PROTO_NUMBER
from replicator.compiled.out cimport ASK_PYTHON, NO_MEMORY, OK, Out, put, put_kept, put_signed, reserve
from replicator.compiled.varints cimport varint_at

ctypedef struct Piece:
    const char* text
    size_t size

ctypedef struct Cell:
    # A column of a row, as it was and changed.
    Piece heads[2]  # in front of a value
    Piece nulls[2]
    Piece wide[2]  # instead of `heads`, for numbers above `limit`
    Piece tag  # of the value
    Piece tail
    bint varies
    uint64_t limit


cdef inline int put_field(Out* out, const Leaf* leaf, const char* tag, size_t tag_size, Out* json) noexcept nogil:
    """A variable behind its tag; nothing where it is null or empty, and may be."""
    cdef char* text = json.base
    cdef size_t size = json.used
    cdef uint64_t number = 0
    cdef size_t at
    cdef char* end
    if (size == 4 and memcmp(text, "null", 4) == 0) or size == 2:
        if leaf.none >= 0 and (size == 4 or text[0] == c'"'):
            return OK
    if reserve(out, tag_size + size + 32) != OK:
        return NO_MEMORY
    if leaf.type == PROTO_NUMBER:
        if size < 1 or size > 18:
            return ASK_PYTHON
        for at in range(size):
            if text[at] < c'0' or text[at] > c'9':
                return ASK_PYTHON
            number = number * 10 + <uint64_t>(text[at] - c'0')
        put_kept(out, tag, tag_size)
        out.used = varint_at(out.base + out.used, number) - out.base
        return OK
    if size < 2 or text[0] != c'"' or text[size - 1] != c'"':
        return ASK_PYTHON
    end = unescaped_at(text + 1, text + 1, size - 2)
    if end == NULL:
        return ASK_PYTHON
    size = end - text - 1
    put_kept(out, tag, tag_size)
    out.used = varint_at(out.base + out.used, size) - out.base
    return put(out, text + 1, size)


cdef inline int close_message(Out* out, size_t at) noexcept nogil:
    """Writes the length of what is behind `at` + 1; there is room of one byte for it, which is enough for most."""
    cdef size_t size = out.used - at - 1
    cdef size_t more = 0
    cdef size_t rest = size >> 7
    while rest:
        more += 1
        rest >>= 7
    if more:
        if reserve(out, more) != OK:
            return NO_MEMORY
        memmove(out.base + at + 1 + more, out.base + at + 1, size)
        out.used += more
    varint_at(out.base + at, size)
    return OK


cdef inline int unquote(Out* json, bint* null) noexcept nogil:
    """The text of a JSON string, or null, in its place. ASK_PYTHON: it is neither."""
    cdef char* end
    null[0] = json.used == 4 and memcmp(json.base, "null", 4) == 0
    if null[0]:
        json.used = 0
        return OK
    if json.used < 2 or json.base[0] != c'"' or json.base[json.used - 1] != c'"':
        return ASK_PYTHON
    end = unescaped_at(json.base, json.base + 1, json.used - 2)
    if end == NULL:
        return ASK_PYTHON
    json.used = end - json.base
    return OK


cdef inline int put_count(Out* out, int64_t number) noexcept nogil:
    """At most 20 digits, so that a byte is enough for the length."""
    cdef size_t at = out.used
    if reserve(out, 1) != OK:
        return NO_MEMORY
    out.used += 1
    if put_signed(out, number) != OK:
        return NO_MEMORY
    return close_message(out, at)


cdef inline int put_column(
    Out* out, const Cell* cell, const char* tag, size_t tag_size, bint changed, bint wide, const Out* text
) noexcept nogil:
    """A column's message. text: its value; NULL: there is none."""
    cdef const Piece* head = &cell.nulls[<int>changed]
    cdef char length[10]
    cdef size_t length_size = 0
    cdef size_t size
    if text != NULL:
        head = &cell.wide[<int>changed] if wide else &cell.heads[<int>changed]
        length_size = varint_at(length, text.used) - length
    size = head.size
    if text != NULL:
        size += cell.tag.size + length_size + text.used + cell.tail.size
    if reserve(out, size + 128) != OK:
        return NO_MEMORY
    put_kept(out, tag, tag_size)
    out.used = varint_at(out.base + out.used, size) - out.base
    put_kept(out, head.text, head.size)
    if text == NULL:
        return OK
    put_kept(out, cell.tag.text, cell.tag.size)
    put(out, length, length_size)
    put(out, text.base, text.used)
    return put_kept(out, cell.tail.text, cell.tail.size)
