# Values of a prepared statement's answer: how each column becomes a value of a row image, and lengths in front of values.

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy

cdef enum Kind:
    FIXED = 0  # bytes of the answer that are copied, or fewer of them
    YEAR = 1
    DATE = 2
    DATETIME = 3
    TIMESTAMP = 4
    TIME = 5
    DECIMAL = 6
    RAW = 7  # behind its length in the answer, alone in the image
    SIZED = 8
    TRIMMED = 9  # SIZED, without the padding at its end
    JSON = 10

ctypedef struct Step:
    uint8_t kind
    uint8_t pad
    int given  # bytes in the answer, where that is fixed
    int wanted  # bytes in the image, or of the length in front of it
    int meta  # digits of a fraction; precision
    int scale
    int key  # its place in the key; -1: not in it


cdef inline size_t head_of(uint8_t first) noexcept nogil:
    """Bytes of a length; 0: it is none."""
    if first < 251:
        return 1
    return 3 if first == 252 else 4 if first == 253 else 9 if first == 254 else 0


cdef inline size_t size_of(const uint8_t* p, size_t head) noexcept nogil:
    cdef uint64_t size = 0
    if head == 1:
        return p[0]
    memcpy(&size, p + 1, head - 1)
    return size
