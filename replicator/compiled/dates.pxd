# Dates and times of the binlog: the layouts of `model.types`, in the notations of `decode/renderers/temporal.py`.

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from replicator.compiled.out cimport (
    ASK_PYTHON, NO_MEMORY, OK, Out, big, digits_at, little, put, put_signed, reserve, signed_at,
)

cdef enum:
    NO_DAY = 1 << 30


cdef inline int64_t days_of(int year, int month, int day) noexcept nogil:
    """Days since 1970-01-01; NO_DAY when the calendar has no such day."""
    cdef int last, era, of_era, of_year
    if year < 1 or year > 9999 or month < 1 or month > 12 or day < 1:
        return NO_DAY
    last = 31
    if month == 4 or month == 6 or month == 9 or month == 11:
        last = 30
    elif month == 2:
        last = 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    if day > last:
        return NO_DAY
    # Years from March on, so that the leap day is the last one.
    if month <= 2:
        year -= 1
    era = year // 400
    of_era = year - era * 400
    of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    return <int64_t>era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468


cdef inline char* date_at(char* o, int64_t days) noexcept nogil:
    """YYYY-MM-DD of a day from 0000-03-01 on."""
    cdef int64_t z = days + 719468
    cdef int64_t era = z // 146097
    cdef int doe = <int>(z - era * 146097)
    cdef int yoe = (doe - doe // 1460 + doe // 36524 - doe // 146096) // 365
    cdef int doy = doe - (365 * yoe + yoe // 4 - yoe // 100)
    cdef int mp = (5 * doy + 2) // 153
    cdef int day = doy - (153 * mp + 2) // 5 + 1
    cdef int month = mp + 3 if mp < 10 else mp - 9
    cdef int year = <int>(yoe + era * 400) + (1 if month <= 2 else 0)
    o = digits_at(o, year, 4)
    o[0] = c'-'
    o = digits_at(o + 1, month, 2)
    o[0] = c'-'
    return digits_at(o + 1, day, 2)


cdef inline char* clock_at(char* o, int hours, int minutes, int seconds) noexcept nogil:
    o = digits_at(o, hours, 2)
    o[0] = c':'
    o = digits_at(o + 1, minutes, 2)
    o[0] = c':'
    return digits_at(o + 1, seconds, 2)


cdef inline int64_t power(int exponent) noexcept nogil:
    cdef int64_t value = 1
    while exponent > 0:
        exponent -= 1
        value *= 10
    return value


cdef inline int64_t fraction_us(const uint8_t* p, int digits) noexcept nogil:
    """The fraction behind a value, in microseconds."""
    cdef int size = (digits + 1) // 2
    return <int64_t>big(p, size) * power(6 - 2 * size)


cdef inline int put_date_days(Out* out, const uint8_t* p, const char* zero, size_t zero_size) noexcept nogil:
    cdef uint32_t packed = <uint32_t>little(p, 3)
    cdef int64_t days = days_of(packed >> 9, packed >> 5 & 15, packed & 31)
    if days == NO_DAY:
        return put(out, zero, zero_size)
    return put_signed(out, days)


cdef inline int put_datetime_epoch(
    Out* out, const uint8_t* p, int digits, int64_t unit, const char* zero, size_t zero_size
) noexcept nogil:
    """DATETIME2 in units of 1/`unit` seconds since the epoch. 40 bits: 1, year * 13 + month, day (5 bits), hour (5),
    minute (6), second (6); then the fraction."""
    cdef uint64_t whole = big(p, 5)
    cdef int month = whole >> 22 & 0x1FFFF
    cdef int64_t days = days_of(month // 13, month % 13, whole >> 17 & 31)
    cdef int64_t seconds
    if days == NO_DAY:
        return put(out, zero, zero_size)
    seconds = days * 86400 + <int64_t>(whole >> 12 & 31) * 3600 + <int64_t>(whole >> 6 & 63) * 60 + <int64_t>(whole & 63)
    return put_signed(out, seconds * unit + fraction_us(p + 5, digits) // (1000000 // unit))


cdef inline int put_time_us(Out* out, const uint8_t* p, int digits) noexcept nogil:
    """TIME2: whole part (hours << 12 | minutes << 6 | seconds) and fraction are one number, biased by its middle."""
    cdef int size = (digits + 1) // 2
    cdef int shift = 8 * size
    cdef int64_t packed = <int64_t>big(p, 3 + size) - (<int64_t>0x800000 << shift)
    cdef int64_t absolute = -packed if packed < 0 else packed
    cdef int64_t whole = absolute >> shift
    cdef int64_t us = ((whole >> 12) * 3600 + (whole >> 6 & 63) * 60 + (whole & 63)) * 1000000
    us += (absolute & ((<int64_t>1 << shift) - 1)) * power(6 - 2 * size)
    if packed < 0:  # also for -0, as the twin
        if reserve(out, 24) != OK:
            return NO_MEMORY
        out.base[out.used] = c'-'
        out.used = signed_at(out.base + out.used + 1, us) - out.base
        return OK
    return put_signed(out, us)


cdef inline int put_timestamp_iso(
    Out* out, const uint8_t* p, int digits, const char* zero, size_t zero_size
) noexcept nogil:
    """TIMESTAMP2 as "YYYY-MM-DDThh:mm:ss[.fraction]Z"."""
    cdef int64_t seconds = <int64_t>big(p, 4)
    cdef int size = (digits + 1) // 2
    cdef int64_t fraction = <int64_t>big(p + 4, size)
    cdef int of_day = <int>(seconds % 86400)
    cdef char* o
    if seconds == 0:
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
    o[0] = c'Z'
    o[1] = c'"'
    out.used = o + 2 - out.base
    return OK


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
    """TIMESTAMP2 in UTC; 0 is the zero date."""
    cdef int64_t seconds = <int64_t>big(p, 4)
    cdef int of_day = <int>(seconds % 86400)
    cdef char* o
    if reserve(out, 40) != OK:
        return NO_MEMORY
    if seconds == 0:
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
