# Row images in the values of the records of an arena: see `sink/mysql/row_runs.py`.

from libc.stdint cimport uint8_t

from replicator.compiled.arena cimport Arena, Entry

cdef enum:
    LENGTH = 4  # of the image before an update

ctypedef struct Image:
    const uint8_t* at  # its images
    size_t size
    int head  # bytes that say what it is: 1, or 2 with the mark
    int kind  # the same as a number; 0: it is no row


cdef inline uint8_t* value_at(Arena arena, size_t index) noexcept nogil:
    """The value of a record that has one."""
    cdef Entry* entry = arena.entries + index
    return <uint8_t*>arena.bytes.base + entry.at + (entry.key if entry.key > 0 else 0)


cdef inline Image row_at(Arena arena, size_t index) noexcept nogil:
    cdef Image row
    cdef const uint8_t* p
    cdef size_t head
    cdef size_t size
    row.at, row.size, row.head, row.kind = NULL, 0, 0, 0
    if arena.entries[index].value < 1:
        return row
    p, size = value_at(arena, index), <size_t>arena.entries[index].value
    head = 2 if p[0] == c'F' else 1
    if size < head:
        return row
    if p[head - 1] == c'U':
        if size < head + LENGTH:
            return row
        row.at, row.size = p + head + LENGTH, size - head - LENGTH
    elif p[head - 1] == c'I' or p[head - 1] == c'D' or p[head - 1] == c'R':
        row.at, row.size = p + head, size - head
    else:
        return row
    row.head, row.kind = <int>head, p[head - 1] | <int>head << 8
    return row
