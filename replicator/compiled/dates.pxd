# Reads dates and times of the binlog as numbers, and has the helpers that `datetexts.pxd` uses: layouts as in `model.types`,
# notations as in `decode/renderers/temporal.py` and `debezium_temporal.py`.

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from replicator.compiled.out cimport (
    ASK_PYTHON, NO_MEMORY, OK, Out, big, digits_at, little, put, put_signed, reserve, signed_at,
)

cdef enum:
    NO_DAY = 1 << 30
    WINDOWED = 16  # beside the digits of a fraction: the years 1 to 99 are in 1970 to 2069


cdef inline int year_of(int year, int flags) noexcept nogil:
    if flags & WINDOWED and 0 < year < 100:
        return year + (2000 if year < 70 else 1900)
    return year


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


cdef inline int64_t date_of(const uint8_t* p, int flags) noexcept nogil:
    """Days since the epoch of a DATE; NO_DAY."""
    cdef uint32_t packed = <uint32_t>little(p, 3)
    return days_of(year_of(packed >> 9, flags), packed >> 5 & 15, packed & 31)


cdef inline bint datetime_of(const uint8_t* p, int digits, int64_t* seconds, int64_t* us) noexcept nogil:
    """Of a DATETIME2: seconds since the epoch and microseconds of its fraction; False for a day that is none. 40 bits: 1,
    year * 13 + month, day (5 bits), hour (5), minute (6), second (6); then the fraction."""
    cdef uint64_t whole = big(p, 5)
    cdef int month = whole >> 22 & 0x1FFFF
    cdef int64_t days = days_of(year_of(month // 13, digits), month % 13, whole >> 17 & 31)
    if days == NO_DAY:
        return False
    seconds[0] = (
        days * 86400 + <int64_t>(whole >> 12 & 31) * 3600 + <int64_t>(whole >> 6 & 63) * 60 + <int64_t>(whole & 63)
    )
    us[0] = fraction_us(p + 5, digits & ~WINDOWED)
    return True


cdef inline int64_t time_of(const uint8_t* p, int digits, bint* negative) noexcept nogil:
    """Of a TIME2, its size in microseconds. Whole part (hours << 12 | minutes << 6 | seconds) and fraction are one number,
    biased by its middle."""
    cdef int size = (digits + 1) // 2
    cdef int shift = 8 * size
    cdef int64_t packed = <int64_t>big(p, 3 + size) - (<int64_t>0x800000 << shift)
    cdef int64_t absolute = -packed if packed < 0 else packed
    cdef int64_t whole = absolute >> shift
    cdef int64_t us = ((whole >> 12) * 3600 + (whole >> 6 & 63) * 60 + (whole & 63)) * 1000000
    negative[0] = packed < 0
    return us + (absolute & ((<int64_t>1 << shift) - 1)) * power(6 - 2 * size)


cdef inline int put_date_days(
    Out* out, const uint8_t* p, int flags, const char* zero, size_t zero_size
) noexcept nogil:
    cdef int64_t days = date_of(p, flags)
    if days == NO_DAY:
        return put(out, zero, zero_size)
    return put_signed(out, days)


cdef inline int put_datetime_epoch(
    Out* out, const uint8_t* p, int digits, int64_t unit, const char* zero, size_t zero_size
) noexcept nogil:
    """DATETIME2 in units of 1/`unit` seconds since the epoch."""
    cdef int64_t seconds, us
    if not datetime_of(p, digits, &seconds, &us):
        return put(out, zero, zero_size)
    return put_signed(out, seconds * unit + us // (1000000 // unit))


cdef inline int put_datetime_ns(
    Out* out, const uint8_t* p, int digits, const char* zero, size_t zero_size
) noexcept nogil:
    """DATETIME2 in nanoseconds since the epoch, as far as 64 bits hold them."""
    cdef int64_t seconds, us
    if not datetime_of(p, digits, &seconds, &us):
        return put(out, zero, zero_size)
    us += seconds * 1000000
    if us > 9223372036854775LL or us < -9223372036854775LL:
        return put(out, zero, zero_size)
    return put_signed(out, us * 1000)


cdef inline int put_time_us(Out* out, const uint8_t* p, int digits) noexcept nogil:
    cdef bint negative
    cdef int64_t us = time_of(p, digits, &negative)
    if negative:  # also for -0, as the twin
        if reserve(out, 24) != OK:
            return NO_MEMORY
        out.base[out.used] = c'-'
        out.used = signed_at(out.base + out.used + 1, us) - out.base
        return OK
    return put_signed(out, us)


cdef inline bint of_day(int64_t us, bint negative) noexcept nogil:
    return us <= 86400000000LL and (not negative or us == 0)


cdef inline int put_time_ms(Out* out, const uint8_t* p, int digits, bint of_a_day) noexcept nogil:
    """`of_a_day`: null for all others, here and in ISO 8601."""
    cdef bint negative
    cdef int64_t us = time_of(p, digits, &negative)
    if of_a_day and not of_day(us, negative):
        return put(out, "null", 4)
    return put_signed(out, -(us // 1000) if negative else us // 1000)


cdef inline int put_time_ns(Out* out, const uint8_t* p, int digits) noexcept nogil:
    cdef bint negative
    cdef int64_t us = time_of(p, digits, &negative)
    return put_signed(out, -us * 1000 if negative else us * 1000)
