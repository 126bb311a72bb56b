"""Skips over whole events of a dump, for who wants to know where they end and nothing else."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from replicator.compiled.out cimport little

ABI = 14

cdef enum:
    PACKET = 5  # length, number, status byte
    HEADER = 19
    LONGEST = 0xFFFFFF
    ARTIFICIAL = 0x20
    ROTATE = 4
    DESCRIPTION = 15
    HEARTBEAT = 27


def skip(const uint8_t[::1] data, int64_t offset, int64_t target):
    """(bytes of the events that were skipped, where the last of them ends in its binlog file).

    Stops before the first that is not whole, not ordinary, or does not lie behind `offset`, and behind the one that
    ends at `target`.
    """
    cdef Py_ssize_t at = 0, size = data.shape[0], length
    cdef const uint8_t* p
    cdef int64_t forward
    with nogil:
        while size - at >= PACKET + HEADER and offset != target:
            p = &data[at]
            length = <Py_ssize_t>little(p, 3)
            if length == LONGEST or length <= HEADER or size - at - 4 < length or p[4] != 0:
                break
            if p[9] == ROTATE or p[9] == DESCRIPTION or p[9] == HEARTBEAT or little(p + 22, 2) & ARTIFICIAL:
                break
            forward = <int64_t><uint32_t>(little(p + 18, 4) - <uint64_t>offset)
            if little(p + 18, 4) == 0 or forward == 0 or forward > 0x7FFFFFFF:
                break
            offset += forward
            at += 4 + length
    return at, offset
