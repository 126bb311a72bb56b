# Writes dates and times of the binlog as text.

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from replicator.compiled.dates cimport (
    NO_DAY, clock_at, date_at, date_of, datetime_of, of_day, power, time_of,
)
from replicator.compiled.out cimport (
    ASK_PYTHON, NO_MEMORY, OK, Out, big, digits_at, little, put, reserve, signed_at, unsigned_at,
)

cdef enum:
    LAST_DAY = 2932896  # 9999-12-31


cdef inline char* short_fraction_at(char* o, int64_t us) noexcept nogil:
    """A point and as many digits as it takes; nothing for 0. Below a second."""
    if us:
        o[0] = c'.'
        o = digits_at(o + 1, us, 6)
        while (o - 1)[0] == c'0':
            o -= 1
    return o


cdef inline int _end_utc(Out* out, char* o) noexcept nogil:
    """Behind the last digit of a time in UTC."""
    o[0] = c'Z'
    o[1] = c'"'
    out.used = o + 2 - out.base
    return OK


cdef inline int put_date_text(Out* out, const uint8_t* p, bint or_null) noexcept nogil:
    """DATE as "YYYY-MM-DD", whatever the calendar says. `or_null`: of a year, month or day that is zero."""
    cdef uint32_t packed = <uint32_t>little(p, 3)
    cdef int year = packed >> 9
    cdef int month = packed >> 5 & 15
    cdef char* o
    if year > 9999:
        return ASK_PYTHON
    if or_null and (year == 0 or month == 0 or packed & 31 == 0):
        return put(out, "null", 4)
    if reserve(out, 12) != OK:
        return NO_MEMORY
    o = out.base + out.used
    o[0] = c'"'
    o = digits_at(o + 1, year, 4)
    o[0] = c'-'
    o = digits_at(o + 1, month, 2)
    o[0] = c'-'
    o = digits_at(o + 1, packed & 31, 2)
    o[0] = c'"'
    out.used = o + 1 - out.base
    return OK


cdef inline int put_date_iso(
    Out* out, const uint8_t* p, int flags, const char* zero, size_t zero_size
) noexcept nogil:
    """DATE as "YYYY-MM-DDZ"."""
    cdef int64_t days = date_of(p, flags)
    cdef char* o
    if days == NO_DAY:
        return put(out, zero, zero_size)
    if reserve(out, 16) != OK:
        return NO_MEMORY
    o = out.base + out.used
    o[0] = c'"'
    o = date_at(o + 1, days)
    return _end_utc(out, o)


cdef inline int put_datetime_iso(
    Out* out, const uint8_t* p, int digits, const char* zero, size_t zero_size
) noexcept nogil:
    """DATETIME2 as "YYYY-MM-DDThh:mm:ss[.fraction]Z", without zeros at the fraction's end."""
    cdef int64_t seconds, us, days
    cdef int clock
    cdef char* o
    if not datetime_of(p, digits, &seconds, &us):
        return put(out, zero, zero_size)
    clock = <int>(seconds % 86400)
    if clock < 0:
        clock += 86400
    days = (seconds - clock) // 86400
    if days > LAST_DAY or us >= 1000000:  # an hour of 24 and more, a fraction of a second and more
        return ASK_PYTHON
    if reserve(out, 40) != OK:
        return NO_MEMORY
    o = out.base + out.used
    o[0] = c'"'
    o = date_at(o + 1, days)
    o[0] = c'T'
    o = clock_at(o + 1, clock // 3600, clock // 60 % 60, clock % 60)
    o = short_fraction_at(o, us)
    return _end_utc(out, o)


cdef inline int put_time_iso(Out* out, const uint8_t* p, int digits, bint of_a_day) noexcept nogil:
    """TIME2 as "[-]hh:mm:ss[.fraction]Z"."""
    cdef bint negative
    cdef int64_t us = time_of(p, digits, &negative)
    cdef int64_t seconds = us // 1000000
    cdef char* o
    if of_a_day and not of_day(us, negative):
        return put(out, "null", 4)
    if reserve(out, 40) != OK:
        return NO_MEMORY
    o = out.base + out.used
    o[0] = c'"'
    o += 1
    if negative and us:
        o[0] = c'-'
        o += 1
    o = digits_at(o, seconds // 3600, 2) if seconds < 360000 else unsigned_at(o, seconds // 3600)
    o[0] = c':'
    o = digits_at(o + 1, seconds // 60 % 60, 2)
    o[0] = c':'
    o = digits_at(o + 1, seconds % 60, 2)
    o = short_fraction_at(o, us % 1000000)
    return _end_utc(out, o)


cdef inline int put_timestamp_iso(
    Out* out, const uint8_t* p, int digits, const char* zero, size_t zero_size
) noexcept nogil:
    """TIMESTAMP2 as "YYYY-MM-DDThh:mm:ss[.fraction]Z"; 0 without a fraction is the zero date."""
    cdef int64_t seconds = <int64_t>big(p, 4)
    cdef int size = (digits + 1) // 2
    cdef int64_t fraction = <int64_t>big(p + 4, size)
    cdef int of_day = <int>(seconds % 86400)
    cdef char* o
    if seconds == 0 and fraction == 0:
        return put(out, zero, zero_size)
    if fraction >= power(2 * size):
        return ASK_PYTHON
    if reserve(out, 40) != OK:
        return NO_MEMORY
    o = out.base + out.used
    o[0] = c'"'
    o = date_at(o + 1, seconds // 86400)
    o[0] = c'T'
    o = clock_at(o + 1, of_day // 3600, of_day // 60 % 60, of_day % 60)
    if digits:
        o[0] = c'.'
        o = digits_at(o + 1, fraction // (10 if digits & 1 else 1), digits)
    return _end_utc(out, o)


cdef inline int _put_fraction(Out* out, const uint8_t* p, int digits) noexcept nogil:
    """A point and `digits` digits, and the closing quote."""
    cdef int size = (digits + 1) // 2
    cdef int64_t fraction = <int64_t>big(p, size)
    cdef char* o = out.base + out.used
    if fraction >= power(2 * size) and digits:
        return ASK_PYTHON
    if digits:
        o[0] = c'.'
        o = digits_at(o + 1, fraction // (10 if digits & 1 else 1), digits)
    o[0] = c'"'
    out.used = o + 1 - out.base
    return OK


cdef inline int put_datetime_text(Out* out, const uint8_t* p, int digits, bint or_null) noexcept nogil:
    """DATETIME2 as "YYYY-MM-DD hh:mm:ss", whatever the calendar says."""
    cdef uint64_t whole = big(p, 5)
    cdef int months = whole >> 22 & 0x1FFFF
    cdef int day = whole >> 17 & 31
    cdef int minutes = <int>(whole >> 12 & 31) * 60 + <int>(whole >> 6 & 63)
    cdef char* o
    if months // 13 > 9999 or minutes >= 1440:
        return ASK_PYTHON
    if or_null and (months < 13 or months % 13 == 0 or day == 0):
        return put(out, "null", 4)
    if reserve(out, 40) != OK:
        return NO_MEMORY
    o = out.base + out.used
    o[0] = c'"'
    o = digits_at(o + 1, months // 13, 4)
    o[0] = c'-'
    o = digits_at(o + 1, months % 13, 2)
    o[0] = c'-'
    o = digits_at(o + 1, day, 2)
    o[0] = c' '
    o = clock_at(o + 1, minutes // 60, minutes % 60, whole & 63)
    out.used = o - out.base
    return _put_fraction(out, p + 5, digits)


cdef inline int put_timestamp_text(Out* out, const uint8_t* p, int digits, bint or_null) noexcept nogil:
    """TIMESTAMP2 in UTC; 0 without a fraction is the zero date."""
    cdef int64_t seconds = <int64_t>big(p, 4)
    cdef int of_day = <int>(seconds % 86400)
    cdef char* o
    if reserve(out, 40) != OK:
        return NO_MEMORY
    if seconds == 0 and big(p + 4, (digits + 1) // 2) == 0:
        if or_null:
            return put(out, "null", 4)
        put(out, '"0000-00-00 00:00:00', 20)
        return _put_fraction(out, p + 4, digits)
    o = out.base + out.used
    o[0] = c'"'
    o = date_at(o + 1, seconds // 86400)
    o[0] = c' '
    o = clock_at(o + 1, of_day // 3600, of_day // 60 % 60, of_day % 60)
    out.used = o - out.base
    return _put_fraction(out, p + 4, digits)


cdef inline int put_time_text(Out* out, const uint8_t* p, int digits) noexcept nogil:
    """TIME2 as "[-]hh:mm:ss"."""
    cdef int size = (digits + 1) // 2
    cdef int shift = 8 * size
    cdef int64_t packed = <int64_t>big(p, 3 + size) - (<int64_t>0x800000 << shift)
    cdef int64_t absolute = -packed if packed < 0 else packed
    cdef int64_t whole = absolute >> shift
    cdef int64_t fraction = absolute & ((<int64_t>1 << shift) - 1)
    cdef char* o
    if fraction >= power(2 * size) and digits:
        return ASK_PYTHON
    if reserve(out, 40) != OK:
        return NO_MEMORY
    o = out.base + out.used
    o[0] = c'"'
    o += 1
    if packed < 0:
        o[0] = c'-'
        o += 1
    if whole >> 12 < 100:
        o = digits_at(o, whole >> 12, 2)
    else:
        o = signed_at(o, whole >> 12)
    o[0] = c':'
    o = digits_at(o + 1, whole >> 6 & 63, 2)
    o[0] = c':'
    o = digits_at(o + 1, whole & 63, 2)
    if digits:
        o[0] = c'.'
        o = digits_at(o + 1, fraction // (10 if digits & 1 else 1), digits)
    o[0] = c'"'
    out.used = o + 1 - out.base
    return OK
