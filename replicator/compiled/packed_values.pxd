# DECIMAL, dates and times as a row image has them, from a prepared statement's answer. The twin: `row_image.py` and
# `decimals.py` in source/mysql/snapshot.

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from replicator.compiled.decimals cimport REPLICATOR_GROUP

cdef enum:
    MOST_DIGITS = 81  # of a DECIMAL: 65, and room for a group
    DECIMAL_MOST = 36  # bytes

ctypedef struct Moment:
    uint32_t year, month, day, hour, minute, second, micro


cdef inline char* big_endian(char* o, uint64_t value, int size) noexcept nogil:
    cdef int at
    for at in range(size):
        o[at] = <char>(value >> (8 * (size - 1 - at)) & 0xFF)
    return o + size


cdef inline char* little_endian(char* o, uint64_t value, int size) noexcept nogil:
    cdef int at
    for at in range(size):
        o[at] = <char>(value >> (8 * at) & 0xFF)
    return o + size


cdef inline char* _groups(char* o, const char* digits, int count, bint whole, bint* any_digit) noexcept nogil:
    """`count` digits in groups of nine; the short group is the first one of a whole part and the last of a fraction."""
    cdef int size = count % 9 if whole and count % 9 else 9
    cdef int at = 0
    cdef int place
    cdef uint32_t value
    while at < count:
        if size > count - at:
            size = count - at
        value = 0
        for place in range(size):
            value = value * 10 + <uint32_t>digits[at + place]
        any_digit[0] = any_digit[0] or value != 0
        o = big_endian(o, value, REPLICATOR_GROUP[size])
        at += size
        size = 9
    return o


cdef inline int decimal_at(char* o, const uint8_t* text, size_t size, int precision, int scale) noexcept nogil:
    """Bytes written, at most DECIMAL_MOST; -1: it is not a number of this precision."""
    cdef char digits[MOST_DIGITS]
    cdef int whole = precision - scale
    cdef bint negative = size > 0 and text[0] == c'-'
    cdef bint any_digit = False
    cdef size_t at = 1 if negative else 0
    cdef size_t point = at
    cdef size_t place
    cdef char* end
    while point < size and text[point] != c'.':
        point += 1
    if point - at > MOST_DIGITS or precision > 65 or whole < 0:
        return -1
    memset(digits, 0, MOST_DIGITS)
    for place in range(point - at):
        if not c'0' <= text[point - 1 - place] <= c'9':
            return -1
        if <int>place < whole:
            digits[whole - 1 - <int>place] = text[point - 1 - place] - c'0'
    if size > point and size - point - 1 > <size_t>scale:
        return -1
    for place in range(size - point - 1 if size > point else 0):
        if not c'0' <= text[point + 1 + place] <= c'9':
            return -1
        digits[whole + <int>place] = text[point + 1 + place] - c'0'
    end = _groups(o, digits, whole, True, &any_digit)
    end = _groups(end, digits + whole, scale, False, &any_digit)
    if negative and any_digit:
        for at in range(<size_t>(end - o)):
            o[at] = ~o[at]
    o[0] = o[0] ^ <char>0x80
    return <int>(end - o)


cdef inline bint moment_of(const uint8_t* p, size_t size, Moment* found) noexcept nogil:
    """Whether it is one: 0, 4, 7 or 11 bytes."""
    memset(found, 0, sizeof(Moment))
    if size not in (0, 4, 7, 11):
        return False
    if size >= 4:
        found.year = p[0] | <uint32_t>p[1] << 8
        found.month = p[2]
        found.day = p[3]
    if size >= 7:
        found.hour = p[4]
        found.minute = p[5]
        found.second = p[6]
    if size == 11:
        memcpy(&found.micro, p + 7, 4)
    return found.micro < 1000000


cdef inline char* fraction_at(char* o, uint32_t micro, int digits) noexcept nogil:
    cdef int size = (digits + 1) // 2
    if size == 1:
        micro //= 10000
    elif size == 2:
        micro //= 100
    return big_endian(o, micro, size)


cdef inline char* date_at(char* o, Moment* m) noexcept nogil:
    return little_endian(o, m.year << 9 | m.month << 5 | m.day, 3)


cdef inline char* datetime_at(char* o, Moment* m, int digits) noexcept nogil:
    cdef uint64_t packed = <uint64_t>(m.year * 13 + m.month) << 22 | <uint64_t>m.day << 17
    packed |= m.hour << 12 | m.minute << 6 | m.second
    return fraction_at(big_endian(o, packed + (1ULL << 39), 5), m.micro, digits)


cdef inline int64_t _days(int64_t year, int64_t month, int64_t day) noexcept nogil:
    """Since 1970-01-01; of a Gregorian date from the year 0 on."""
    cdef int64_t era, of_era, of_year
    if month <= 2:
        year -= 1
    era = year // 400
    of_era = year - era * 400
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468


cdef inline char* timestamp_at(char* o, Moment* m, int digits) noexcept nogil:
    """Of a session in UTC; NULL: not a time that a TIMESTAMP can have."""
    cdef int64_t seconds = 0
    if m.year:
        if not (1 <= m.month <= 12 and 1 <= m.day <= 31):
            return NULL
        seconds = _days(m.year, m.month, m.day) * 86400 + m.hour * 3600 + m.minute * 60 + m.second
        if not 0 <= seconds < 1LL << 32:
            return NULL
    return fraction_at(big_endian(o, <uint64_t>seconds, 4), m.micro, digits)


cdef inline char* time_at(char* o, const uint8_t* p, size_t size, int digits) noexcept nogil:
    """NULL: not a time; it has 0, 8 or 12 bytes."""
    cdef int fraction = (digits + 1) // 2
    cdef uint64_t packed = 0
    cdef uint64_t bias = <uint64_t>0x800000 << (8 * fraction)
    cdef uint32_t days, micro = 0
    if size == 0:
        return big_endian(o, bias, 3 + fraction)
    if size not in (8, 12):
        return NULL
    memcpy(&days, p + 1, 4)
    if size == 12:
        memcpy(&micro, p + 8, 4)
    if days > 34 or micro >= 1000000:
        return NULL
    packed = <uint64_t>((days * 24 + p[5]) << 12 | p[6] << 6 | p[7]) << (8 * fraction)
    if fraction == 1:
        packed |= micro // 10000
    elif fraction == 2:
        packed |= micro // 100
    elif fraction == 3:
        packed |= micro
    return big_endian(o, bias - packed if p[0] else bias + packed, 3 + fraction)
