# Reads DECIMAL values of the binlog (layout: `decode/values/decimals.py`) of up to 38 digits; Python renders longer ones.

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from replicator.compiled.out cimport ASK_PYTHON, NO_MEMORY, OK, Out, reserve
from replicator.compiled.quoted cimport put_base64

cdef extern from *:
    """
    typedef unsigned __int128 replicator_u128;
    static const int REPLICATOR_GROUP[10] = {0, 1, 1, 2, 2, 3, 3, 4, 4, 4};
    static const unsigned int REPLICATOR_POWER[10] = {
        1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000
    };
    """
    ctypedef unsigned long long u128 "replicator_u128"
    const int* REPLICATOR_GROUP
    const unsigned int* REPLICATOR_POWER


cdef inline const uint8_t* _group(const uint8_t* p, int digits, uint8_t mask, bint first, u128* value) noexcept nogil:
    cdef uint32_t number = 0
    cdef int at
    for at in range(REPLICATOR_GROUP[digits]):
        number = number << 8 | (p[at] ^ mask ^ (0x80 if first and at == 0 else 0))
    value[0] = value[0] * REPLICATOR_POWER[digits] + number
    return p + REPLICATOR_GROUP[digits]


cdef inline bint unscaled(const uint8_t* p, int precision, int scale, u128* value) noexcept nogil:
    """The digits as one number; returns whether it is negative."""
    cdef int whole = precision - scale
    cdef int head = whole % 9
    cdef uint8_t mask = 0 if p[0] & 0x80 else 0xFF
    cdef bint first = True
    cdef int group
    value[0] = 0
    if head:
        p = _group(p, head, mask, first, value)
        first = False
    for group in range(whole // 9 + scale // 9):
        p = _group(p, 9, mask, first, value)
        first = False
    if scale % 9:
        _group(p, scale % 9, mask, first, value)
    return mask != 0


cdef inline int decimal_bytes(const uint8_t* p, int precision, int scale, uint8_t* raw) noexcept nogil:
    """The unscaled value, big-endian two's complement in as few bytes as hold it. They end at `raw` + 17; returns where
    they begin, or -1: too many digits."""
    cdef u128 value
    cdef int at, place
    cdef bint negative
    if precision > 37:
        return -1
    negative = unscaled(p, precision, scale, &value)
    # -v is ~(v - 1): the bytes that v - 1 takes, inverted.
    if negative and value != 0:
        value = value - 1
    else:
        negative = False
    for at in range(16):
        raw[16 - at] = <uint8_t>(<uint64_t>(value >> (8 * at)) & 0xFF)
    raw[0] = 0
    at = 0
    while at < 16 and raw[at] == 0 and raw[at + 1] < 0x80:
        at += 1
    if negative:
        for place in range(at, 17):
            raw[place] = raw[place] ^ 0xFF
    return at


cdef inline int put_decimal_base64(Out* out, const uint8_t* p, int precision, int scale) noexcept nogil:
    """Base64 of `decimal_bytes`."""
    cdef uint8_t raw[17]
    cdef int at = decimal_bytes(p, precision, scale, raw)
    return ASK_PYTHON if at < 0 else put_base64(out, raw + at, 17 - at, 0, False)


cdef inline int put_decimal_plain(
    Out* out, const uint8_t* p, int precision, int scale, bint quoted, bint java
) noexcept nogil:
    """All digits of the scale kept: 12.30. `java`: not where Java's BigDecimal has an exponent."""
    cdef u128 value
    cdef char digits[48]
    cdef int at = 48
    cdef bint negative
    cdef char* o
    if precision > 37:
        return ASK_PYTHON
    negative = unscaled(p, precision, scale, &value)
    if value == 0:
        negative = False
        if java and scale > 6:
            return ASK_PYTHON
    while value != 0 or at > 47 - scale:
        at -= 1
        digits[at] = <char>(48 + <int>(<uint64_t>(value % 10)))
        value = value // 10
        if java and value == 0 and 47 - at - scale < -6:
            return ASK_PYTHON
    if reserve(out, 64) != OK:
        return NO_MEMORY
    o = out.base + out.used
    if quoted:
        o[0] = c'"'
        o += 1
    if negative:
        o[0] = c'-'
        o += 1
    while at < 48:
        if at == 48 - scale:
            o[0] = c'.'
            o += 1
        o[0] = digits[at]
        o += 1
        at += 1
    if quoted:
        o[0] = c'"'
        o += 1
    out.used = o - out.base
    return OK
