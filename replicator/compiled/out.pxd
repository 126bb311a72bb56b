# A growing output buffer, with functions that append literals, integers and fixed-width digits.
#
# Writers return 0 or NO_MEMORY. None of them needs the interpreter.

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

cdef extern from *:
    int ctzll "__builtin_ctzll"(unsigned long long) nogil

cdef enum:
    OK = 0
    ASK_PYTHON = 1  # a rare value: the twin's renderer writes it
    DECLINED = -1  # a row that the twin has to look at: it knows the error
    NO_MEMORY = -2

cdef enum:
    BEHIND = 32

ctypedef struct Out:
    char* base
    size_t used
    size_t room


cdef inline int reserve(Out* out, size_t more) noexcept nogil:
    cdef size_t wanted = out.used + more
    cdef char* moved
    if wanted <= out.room:
        return OK
    if wanted < out.room * 2:
        wanted = out.room * 2
    moved = <char*>realloc(out.base, wanted)
    if moved == NULL:
        return NO_MEMORY
    out.base = moved
    out.room = wanted
    return OK


cdef inline void shrink(Out* out) noexcept nogil:
    """Gives back what is not used: it will grow no more, and wait for a while."""
    cdef char* moved
    if out.used and out.room - out.used > 4096:
        moved = <char*>realloc(out.base, out.used)
        if moved != NULL:
            out.base = moved
            out.room = out.used


cdef inline void drop(Out* out, size_t most) noexcept nogil:
    """Of a buffer that is used again: not of one that has become larger than `most`."""
    if out.room > most:
        free(out.base)
        out.base = NULL
        out.used = out.room = 0


cdef inline int put(Out* out, const void* text, size_t size) noexcept nogil:
    if reserve(out, size) != OK:
        return NO_MEMORY
    memcpy(out.base + out.used, text, size)
    out.used += size
    return OK


cdef inline int put_kept(Out* out, const char* text, size_t size) noexcept nogil:
    """As `put`, of a text behind which as many as `BEHIND` bytes may be read: most are short, and copied without a call."""
    if reserve(out, size + BEHIND) != OK:
        return NO_MEMORY
    memcpy(out.base + out.used, text, BEHIND)
    if size > BEHIND:
        memcpy(out.base + out.used + BEHIND, text + BEHIND, size - BEHIND)
    out.used += size
    return OK


cdef inline uint64_t eight_digits(uint32_t value) noexcept nogil:
    """Of a number below 10**8, each in a byte, the first in the lowest. Both halves are divided at once, then all four
    quarters: by multiplication, which is exact for numbers as small as these."""
    cdef uint64_t halves = value // 10000 | <uint64_t>(value % 10000) << 32
    cdef uint64_t hundreds = (halves * 5243 >> 19) & 0x0000007F0000007FULL
    cdef uint64_t quarters = hundreds | (halves - hundreds * 100) << 16
    cdef uint64_t tens = (quarters * 103 >> 10) & 0x000F000F000F000FULL
    return tens | (quarters - tens * 10) << 8


cdef inline char* _first_at(char* o, uint32_t value) noexcept nogil:
    cdef uint64_t digits = eight_digits(value)
    cdef int zeros = ctzll(digits | <uint64_t>1 << 56) >> 3
    digits = (digits | 0x3030303030303030ULL) >> 8 * zeros
    memcpy(o, &digits, 8)
    return o + 8 - zeros


cdef inline char* _next_at(char* o, uint32_t value) noexcept nogil:
    cdef uint64_t digits = eight_digits(value) | 0x3030303030303030ULL
    memcpy(o, &digits, 8)
    return o + 8


cdef inline char* unsigned_at(char* o, uint64_t value) noexcept nogil:
    """Writes at most 20 digits; returns the place behind them. Eight bytes may be written to, however few they are."""
    if value < 10:
        o[0] = <char>(48 + value)
        return o + 1
    if value < 100000000:
        return _first_at(o, <uint32_t>value)
    if value < 10000000000000000ULL:
        return _next_at(_first_at(o, <uint32_t>(value // 100000000)), <uint32_t>(value % 100000000))
    o = _first_at(o, <uint32_t>(value // 10000000000000000ULL))
    value = value % 10000000000000000ULL
    return _next_at(_next_at(o, <uint32_t>(value // 100000000)), <uint32_t>(value % 100000000))


cdef inline char* signed_at(char* o, int64_t value) noexcept nogil:
    if value < 0:
        o[0] = c'-'
        return unsigned_at(o + 1, <uint64_t>0 - <uint64_t>value)
    return unsigned_at(o, <uint64_t>value)


cdef inline char* digits_at(char* o, uint64_t value, int count) noexcept nogil:
    """The last `count` digits of `value`, zeros in front."""
    cdef int at = count
    while at > 0:
        at -= 1
        o[at] = <char>(48 + value % 10)
        value //= 10
    return o + count


cdef inline int put_unsigned(Out* out, uint64_t value) noexcept nogil:
    if reserve(out, 24) != OK:
        return NO_MEMORY
    out.used = unsigned_at(out.base + out.used, value) - out.base
    return OK


cdef inline int put_signed(Out* out, int64_t value) noexcept nogil:
    if reserve(out, 24) != OK:
        return NO_MEMORY
    out.used = signed_at(out.base + out.used, value) - out.base
    return OK


cdef inline uint64_t little(const uint8_t* p, int size) noexcept nogil:
    """`size` bytes, 0 to 8, lowest first. Those in the middle are read twice, so that there is no loop."""
    cdef uint64_t eight
    cdef uint32_t four, last_four
    cdef uint16_t two, last_two
    if size == 8:
        memcpy(&eight, p, 8)
        return eight
    if size >= 4:
        memcpy(&four, p, 4)
        memcpy(&last_four, p + size - 4, 4)
        return four | <uint64_t>last_four << 8 * (size - 4)
    if size >= 2:
        memcpy(&two, p, 2)
        memcpy(&last_two, p + size - 2, 2)
        return two | <uint32_t>last_two << 8 * (size - 2)
    return p[0] if size == 1 else 0


cdef inline int64_t little_signed(const uint8_t* p, int size) noexcept nogil:
    cdef int unused = 64 - 8 * size
    return <int64_t>(little(p, size) << unused) >> unused


cdef inline uint64_t big(const uint8_t* p, int size) noexcept nogil:
    """`size` bytes, 0 to 8, highest first."""
    cdef uint64_t value = 0
    cdef int at
    for at in range(size):
        value = value << 8 | p[at]
    return value
