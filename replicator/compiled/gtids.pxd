# Writes GTIDs as text, and records the GTIDs of finished transactions.

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport realloc
from libc.string cimport memcmp, memcpy

from replicator.compiled.out cimport NO_MEMORY, OK, Out, put, unsigned_at

ctypedef struct Gtid:
    int kind  # 0: none, 1: MySQL's (`uuid`, `number`), 2: MariaDB's (`domain`, `server`, `number`)
    uint8_t uuid[16]
    uint32_t domain
    uint32_t server
    uint64_t number

ctypedef struct Executed:
    # GTIDs next to each other: the first of them, and the last number.
    Gtid first
    uint64_t last

ctypedef struct Done:
    Executed* base
    size_t count
    size_t room


cdef inline int put_gtid(Out* out, Gtid* gtid) noexcept nogil:
    """As the servers write it."""
    cdef char text[64]
    cdef const char* digits = "0123456789abcdef"
    cdef char* at = text
    cdef int index
    if gtid.kind == 2:
        at = unsigned_at(at, gtid.domain)
        at[0] = c'-'
        at = unsigned_at(at + 1, gtid.server)
        at[0] = c'-'
        at = unsigned_at(at + 1, gtid.number)
        return put(out, text, at - text)
    for index in range(16):
        if index == 4 or index == 6 or index == 8 or index == 10:
            at[0] = c'-'
            at += 1
        at[0] = digits[gtid.uuid[index] >> 4]
        at[1] = digits[gtid.uuid[index] & 15]
        at += 2
    at[0] = c':'
    at = unsigned_at(at + 1, gtid.number)
    return put(out, text, at - text)


cdef inline bint _follows(Executed* last, Gtid* gtid) noexcept nogil:
    cdef Gtid* first = &last.first
    return (
        first.kind == gtid.kind and last.last + 1 == gtid.number and first.domain == gtid.domain
        and first.server == gtid.server and memcmp(first.uuid, gtid.uuid, 16) == 0
    )


cdef inline int add_executed(Done* done, Gtid* gtid) noexcept nogil:
    cdef Executed* moved
    cdef size_t room
    if done.count and _follows(done.base + done.count - 1, gtid):
        done.base[done.count - 1].last = gtid.number
        return OK
    if done.count == done.room:
        room = done.room * 2 + 16
        moved = <Executed*>realloc(done.base, room * sizeof(Executed))
        if moved == NULL:
            return NO_MEMORY
        done.base, done.room = moved, room
    done.base[done.count].first = gtid[0]
    done.base[done.count].last = gtid.number
    done.count += 1
    return OK
