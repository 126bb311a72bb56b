# Values of row images as the texts of SQL statements and of LOAD DATA. The twins: `sink/mysql/value_texts.py` and, for their
# notation, `sink/mysql/sql/literals.py` and `load_data.py`.

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from replicator.compiled.dates cimport date_at
from replicator.compiled.decimals cimport REPLICATOR_GROUP, REPLICATOR_POWER
from replicator.compiled.documents cimport EXACT, put_document
from replicator.compiled.floats cimport Digits, digits_of, double_at, plain_at, single_at
from replicator.compiled.out cimport (
    ASK_PYTHON, NO_MEMORY, OK, Out, big, digits_at, little, little_signed, put, put_signed, put_unsigned, reserve,
)

cdef extern from *:
    """
    static const char REPLICATOR_HEX_LOWER[] = "0123456789abcdef";
    """
    const char* REPLICATOR_HEX_LOWER

cdef enum:
    PYTHON = 0
    SIGNED = 1
    UNSIGNED = 2
    BITS = 3
    YEAR = 4
    FLOATING = 5
    DECIMAL = 6
    DATE = 7
    DATETIME = 8
    TIMESTAMP = 9
    TIME = 10
    HEXADECIMAL = 11
    ESCAPED = 12
    DOCUMENT = 13

cdef enum:
    GROUP = 9  # digits in four bytes
    MOST_DIGITS = 90


cdef inline int _escaped(Out* out, const uint8_t* p, size_t size, int padded) noexcept nogil:
    """Bytes of a field of LOAD DATA, filled with zeros to `padded` bytes; 0: as they are."""
    cdef size_t wanted = 2 * size + (padded if padded > 0 else 0)
    cdef size_t at
    cdef uint8_t byte
    cdef char* o
    if reserve(out, wanted) != OK:
        return NO_MEMORY
    o = out.base + out.used
    for at in range(size):
        byte = p[at]
        if byte == c'\\' or byte == c'\t' or byte == c'\n':
            o[0] = c'\\'
            o += 1
            byte = c'\\' if byte == c'\\' else c't' if byte == c'\t' else c'n'
        o[0] = <char>byte
        o += 1
    while <int64_t>size < padded:
        o[0] = 0
        o += 1
        size += 1
    out.used = o - out.base
    return OK


cdef inline int _hexadecimal(Out* out, const uint8_t* p, size_t size, int padded) noexcept nogil:
    """Digits of the same."""
    cdef size_t at
    cdef char* o
    if reserve(out, 2 * (size + (padded if padded > 0 else 0))) != OK:
        return NO_MEMORY
    o = out.base + out.used
    for at in range(size):
        o[0] = REPLICATOR_HEX_LOWER[p[at] >> 4]
        o[1] = REPLICATOR_HEX_LOWER[p[at] & 15]
        o += 2
    while <int64_t>size < padded:
        o[0] = o[1] = c'0'
        o += 2
        size += 1
    out.used = o - out.base
    return OK


cdef inline int _document(Out* out, const uint8_t* p, size_t size, bint escaped) noexcept nogil:
    """JSON as its text, with hexadecimal digits or escapes."""
    cdef size_t begin = out.used
    cdef size_t more = 0
    cdef size_t at, place
    cdef uint8_t byte
    cdef int status = put_document(out, p, size, EXACT)
    if status != OK:
        return status
    for at in range(begin, out.used):
        more += 1 if not escaped or out.base[at] == c'\\' else 0
    if reserve(out, more) != OK:
        return NO_MEMORY
    at, place = out.used, out.used + more
    out.used = place
    while place > at:  # from the end on, until no byte has to be moved any more
        at -= 1
        byte = <uint8_t>out.base[at]
        place -= 1
        out.base[place] = REPLICATOR_HEX_LOWER[byte & 15] if not escaped else <char>byte
        if not escaped or byte == c'\\':
            place -= 1
            out.base[place] = REPLICATOR_HEX_LOWER[byte >> 4] if not escaped else c'\\'
    return OK


cdef inline int _floating(Out* out, double value) noexcept nogil:
    """`repr`, always with an exponent."""
    cdef Digits found
    cdef char* o
    cdef int exponent
    cdef int status = digits_of(value, False, &found)
    if status != OK:
        return status
    if reserve(out, 64) != OK:
        return NO_MEMORY
    o = out.base + out.used
    exponent = found.exponent
    if -4 <= exponent < 16:
        o = plain_at(o, &found)
        o[0] = c'e'
        o[1] = c'0'
        out.used = o + 2 - out.base
        return OK
    if found.negative:
        o[0] = c'-'
        o += 1
    o[0] = found.text[0]
    o += 1
    if found.count > 1:
        o[0] = c'.'
        memcpy(o + 1, found.text + 1, found.count - 1)
        o += found.count
    o[0] = c'e'
    o[1] = c'-' if exponent < 0 else c'+'
    exponent = -exponent if exponent < 0 else exponent
    o = digits_at(o + 2, exponent, 3 if exponent > 99 else 2)
    out.used = o - out.base
    return OK


cdef inline int _decimal(Out* out, const uint8_t* p, size_t size, int precision, int scale) noexcept nogil:
    """With the zeros in front."""
    cdef int whole = precision - scale
    cdef uint8_t mask = 0 if p[0] & 0x80 else 0xFF
    cdef const uint8_t* first = p
    cdef bint odd = False
    cdef int index
    cdef char* o
    if whole < 0 or scale < 0 or precision > MOST_DIGITS:
        return ASK_PYTHON
    if (
        REPLICATOR_GROUP[whole % 9] + whole // 9 * 4 + scale // 9 * 4 + REPLICATOR_GROUP[scale % 9] != <int64_t>size
    ):
        return ASK_PYTHON
    if reserve(out, MOST_DIGITS + 8) != OK:
        return NO_MEMORY
    o = out.base + out.used
    if mask:
        o[0] = c'-'
        o += 1
    if whole == 0:
        o[0] = c'0'
        o += 1
    for index in range((whole + 8) // 9):
        o = _group(o, &p, whole % 9 if index == 0 and whole % 9 else GROUP, mask, p == first, &odd)
    if scale:
        o[0] = c'.'
        o += 1
    for index in range((scale + 8) // 9):
        o = _group(o, &p, scale % 9 if index == scale // 9 else GROUP, mask, p == first, &odd)
    if odd:
        return ASK_PYTHON
    out.used = o - out.base
    return OK


cdef inline char* _group(char* o, const uint8_t** p, int digits, uint8_t mask, bint sign, bint* odd) noexcept nogil:
    """`sign`: the first bit is it, inverted. Sets `odd` for a number of more digits, which no server writes."""
    cdef uint32_t number = 0
    cdef int at
    for at in range(REPLICATOR_GROUP[digits]):
        number = number << 8 | <uint8_t>(p[0][0] ^ mask ^ (0x80 if sign and at == 0 else 0))
        p[0] += 1
    if number >= REPLICATOR_POWER[digits]:
        odd[0] = True
    return digits_at(o, number, digits)


cdef inline char* _day_at(char* o, uint64_t year, uint64_t month, uint64_t day) noexcept nogil:
    o = digits_at(o, year, 4)
    o[0] = c'-'
    o = digits_at(o + 1, month, 2)
    o[0] = c'-'
    return digits_at(o + 1, day, 2)


cdef inline char* _clock_at(char* o, uint64_t hour, uint64_t minute, uint64_t second) noexcept nogil:
    o = digits_at(o, hour, 2)
    o[0] = c':'
    o = digits_at(o + 1, minute, 2)
    o[0] = c':'
    return digits_at(o + 1, second, 2)


cdef inline int64_t _micro(const uint8_t* p, size_t size) noexcept nogil:
    """Of a fraction of 0 to 3 bytes; -1: Python looks at it."""
    cdef int64_t value = <int64_t>big(p, <int>size) if size <= 3 else -1
    if size == 1:
        value *= 10000
    elif size == 2:
        value *= 100
    return value if 0 <= value < 1000000 else -1


cdef inline char* _fraction_at(char* o, int64_t micro) noexcept nogil:
    o[0] = c'.'
    return digits_at(o + 1, micro, 6)


cdef inline int _date(Out* out, uint32_t packed) noexcept nogil:
    if packed >> 9 > 9999:
        return ASK_PYTHON
    if reserve(out, 16) != OK:
        return NO_MEMORY
    out.used = _day_at(out.base + out.used, packed >> 9, packed >> 5 & 15, packed & 31) - out.base
    return OK


cdef inline int _date_time(Out* out, const uint8_t* p, size_t size) noexcept nogil:
    cdef int64_t packed = <int64_t>big(p, 5) - (<int64_t>1 << 39)
    cdef int64_t micro = _micro(p + 5, size - 5)
    cdef int64_t days = packed >> 17
    cdef int64_t clock = packed & 0x1FFFF
    cdef int64_t months = days >> 5
    cdef char* o
    if packed < 0 or micro < 0 or months // 13 > 9999:
        return ASK_PYTHON
    if reserve(out, 40) != OK:
        return NO_MEMORY
    o = _day_at(out.base + out.used, months // 13, months % 13, days & 31)
    o[0] = c' '
    o = _clock_at(o + 1, clock >> 12, clock >> 6 & 63, clock & 63)
    out.used = _fraction_at(o, micro) - out.base
    return OK


cdef inline int _timestamp(Out* out, const uint8_t* p, size_t size) noexcept nogil:
    cdef int64_t seconds = <int64_t>big(p, 4)
    cdef int64_t micro = _micro(p + 4, size - 4)
    cdef int64_t clock = seconds % 86400
    cdef char* o
    if micro < 0:
        return ASK_PYTHON
    if reserve(out, 40) != OK:
        return NO_MEMORY
    if seconds == 0 and micro == 0:
        return put(out, "0000-00-00 00:00:00", 19)
    o = date_at(out.base + out.used, seconds // 86400)
    o[0] = c' '
    o = _clock_at(o + 1, clock // 3600, clock // 60 % 60, clock % 60)
    out.used = _fraction_at(o, micro) - out.base
    return OK


cdef inline int _time(Out* out, const uint8_t* p, size_t size) noexcept nogil:
    cdef int bytes_of = <int>size - 3
    cdef int bits = 8 * bytes_of
    cdef int64_t packed, whole, micro
    cdef uint8_t fraction[3]
    cdef char* o
    cdef int at
    if size > 6:
        return ASK_PYTHON
    packed = <int64_t>big(p, <int>size) - (<int64_t>0x800000 << bits)
    if reserve(out, 40) != OK:
        return NO_MEMORY
    o = out.base + out.used
    if packed < 0:
        o[0] = c'-'
        o += 1
        packed = -packed
    whole = packed >> bits
    for at in range(bytes_of):
        fraction[at] = <uint8_t>(packed >> (bits - 8 - 8 * at) & 0xFF)
    micro = _micro(fraction, bytes_of)
    if micro < 0:
        return ASK_PYTHON
    if whole >> 12 < 100:
        o = digits_at(o, whole >> 12, 2)
    else:
        o = digits_at(o, whole >> 12, 3 if whole >> 12 < 1000 else 4)
    o[0] = c':'
    o = digits_at(o + 1, whole >> 6 & 63, 2)
    o[0] = c':'
    o = digits_at(o + 1, whole & 63, 2)
    out.used = _fraction_at(o, micro) - out.base
    return OK


cdef inline int put_value(
    Out* out, int kind, int first, int second, const uint8_t* p, size_t size
) noexcept nogil:
    """`kind`, `first`, `second`: of a `Code` (`sink/mysql/sql/row_texts.py`). ASK_PYTHON: for a value that is rare, or has
    no text."""
    if kind == ESCAPED:
        return _escaped(out, p, size, first)
    if kind == HEXADECIMAL:
        return _hexadecimal(out, p, size, first)
    if kind == DOCUMENT:
        return _document(out, p, size, first)
    if kind == SIGNED and size <= 8:
        return put_signed(out, little_signed(p, <int>size))
    if kind == UNSIGNED and size <= 8:
        return put_unsigned(out, little(p, <int>size))
    if kind == BITS and size <= 8:
        return put_unsigned(out, big(p, <int>size))
    if kind == YEAR and size == 1:
        return put_unsigned(out, 1900 + p[0]) if p[0] else ASK_PYTHON
    if kind == FLOATING:
        return _floating(out, double_at(p) if size == 8 else single_at(p)) if size in (4, 8) else ASK_PYTHON
    if kind == DECIMAL and size:
        return _decimal(out, p, size, first, second)
    if kind == DATE and size == 3:
        return _date(out, <uint32_t>little(p, 3))
    if kind == DATETIME and size >= 5:
        return _date_time(out, p, size)
    if kind == TIMESTAMP and size >= 4:
        return _timestamp(out, p, size)
    if kind == TIME and size >= 3:
        return _time(out, p, size)
    return ASK_PYTHON
