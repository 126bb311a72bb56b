# Writes values in Avro's binary encoding, from JSON text or directly from the row, as `encode/avro/writer.py` does.

from libc.math cimport isfinite
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memchr, memcmp, memcpy, memmove

from replicator.compiled.codes cimport (
    AVRO_BOOLEAN, AVRO_BYTES, AVRO_DOUBLE, AVRO_FLOAT, AVRO_INT, AVRO_LONG, AVRO_STRING,
)
from replicator.compiled.out cimport ASK_PYTHON, NO_MEMORY, OK, Out, put, reserve
from replicator.compiled.varints cimport varint_at, zigzag

cdef extern from *:
    """
    static const double REPLICATOR_TENS[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13,
        1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    /* Value of a Base64 letter, 1 added; 0: none. */
    static const unsigned char REPLICATOR_SIX[256] = {
        ['A'] = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26,
        ['a'] = 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52,
        ['0'] = 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, ['+'] = 63, ['/'] = 64,
    };
    """
    const double* REPLICATOR_TENS
    const unsigned char* REPLICATOR_SIX

cdef enum:
    MOST_EXACT = 22  # powers of ten that a double has exactly

ctypedef struct Leaf:
    # The schema of a value.
    int type  # NO_AVRO: it is written as text
    int some  # the byte in front of a value; -1: none
    int none  # the byte for null; -1: there is no null


cdef inline bint _is_digit(char text) noexcept nogil:
    return text >= c'0' and text <= c'9'


cdef inline char* _some_at(char* o, const Leaf* leaf) noexcept nogil:
    if leaf.some >= 0:
        o[0] = <char>leaf.some
        o += 1
    return o


cdef inline int put_number(Out* out, const Leaf* leaf, int64_t number) noexcept nogil:
    """ASK_PYTHON: of a type that has no such number."""
    if leaf.type == AVRO_INT:
        if number != <int32_t>number:
            return ASK_PYTHON
    elif leaf.type != AVRO_LONG:
        return ASK_PYTHON
    if reserve(out, 16) != OK:
        return NO_MEMORY
    out.used = varint_at(_some_at(out.base + out.used, leaf), zigzag(number)) - out.base
    return OK


cdef inline int put_blob(Out* out, const Leaf* leaf, const void* data, size_t size, size_t padded) noexcept nogil:
    """Bytes or text behind their length, zeros behind them up to `padded` bytes."""
    cdef size_t whole = size if size > padded else padded
    cdef char* o
    if reserve(out, whole + 16) != OK:
        return NO_MEMORY
    o = varint_at(_some_at(out.base + out.used, leaf), <uint64_t>whole << 1)
    memcpy(o, data, size)
    o += size
    while size < whole:
        o[0] = 0
        o += 1
        size += 1
    out.used = o - out.base
    return OK


cdef inline int put_real(Out* out, const Leaf* leaf, double number) noexcept nogil:
    cdef char* o
    cdef float single
    if not isfinite(number) or reserve(out, 16) != OK:
        return ASK_PYTHON
    o = _some_at(out.base + out.used, leaf)
    if leaf.type == AVRO_DOUBLE:
        memcpy(o, &number, 8)
        o += 8
    elif leaf.type == AVRO_FLOAT:
        single = <float>number
        if not isfinite(single):
            return ASK_PYTHON
        memcpy(o, &single, 4)
        o += 4
    else:
        return ASK_PYTHON
    out.used = o - out.base
    return OK


cdef inline int put_json(Out* out, const Leaf* leaf, const char* text, size_t size) noexcept nogil:
    """A JSON value as our writers print them. ASK_PYTHON for any other text, and for what is not of the type."""
    if size == 4 and memcmp(text, "null", 4) == 0:
        if leaf.none < 0 or reserve(out, 1) != OK:
            return ASK_PYTHON
        out.base[out.used] = <char>leaf.none
        out.used += 1
        return OK
    if leaf.type == AVRO_INT or leaf.type == AVRO_LONG:
        return _integer(out, leaf, text, size)
    if leaf.type == AVRO_FLOAT or leaf.type == AVRO_DOUBLE:
        return _real(out, leaf, text, size)
    if leaf.type == AVRO_BOOLEAN:
        if (size == 4 and memcmp(text, "true", 4) == 0) or (size == 5 and memcmp(text, "false", 5) == 0):
            if reserve(out, 2) != OK:
                return NO_MEMORY
            if leaf.some >= 0:
                out.base[out.used] = <char>leaf.some
                out.used += 1
            out.base[out.used] = size == 4
            out.used += 1
            return OK
        return ASK_PYTHON
    if size < 2 or text[0] != c'"' or text[size - 1] != c'"':
        return ASK_PYTHON
    if leaf.type == AVRO_STRING:
        return _string(out, leaf, text + 1, size - 2)
    return _base64(out, leaf, text + 1, size - 2) if leaf.type == AVRO_BYTES else ASK_PYTHON


cdef inline int _integer(Out* out, const Leaf* leaf, const char* text, size_t size) noexcept nogil:
    cdef const char* end = text + size
    cdef bint negative = text[0] == c'-'
    cdef uint64_t number = 0
    if negative:
        text += 1
    if text == end or end - text > 19 or (text[0] == c'0' and size > 1):
        return ASK_PYTHON
    while text < end:
        if not _is_digit(text[0]):
            return ASK_PYTHON
        number = number * 10 + <uint64_t>(text[0] - c'0')
        text += 1
    if number > 0x7FFFFFFFFFFFFFFFULL:
        return ASK_PYTHON
    return put_number(out, leaf, -<int64_t>number if negative else <int64_t>number)


cdef inline int _real(Out* out, const Leaf* leaf, const char* text, size_t size) noexcept nogil:
    """Numbers whose digits and whose power of ten a double has exactly: one operation rounds as a parser does."""
    cdef const char* end = text + size
    cdef bint negative = text[0] == c'-'
    cdef uint64_t digits = 0
    cdef int exponent = 0
    cdef int behind = 0
    cdef bint small, point = False
    cdef double number
    if negative:
        text += 1
    while text < end and text[0] != c'E':
        if text[0] == c'.' and not point:
            point = True
        elif _is_digit(text[0]) and digits < 900719925474099ULL:
            digits = digits * 10 + <uint64_t>(text[0] - c'0')
            behind += point
        else:
            return ASK_PYTHON
        text += 1
    if text < end:
        text += 1
        small = text < end and text[0] == c'-'
        if small:
            text += 1
        if text == end or end - text > 3:
            return ASK_PYTHON
        while text < end:
            if not _is_digit(text[0]):
                return ASK_PYTHON
            exponent = exponent * 10 + text[0] - c'0'
            text += 1
        if small:
            exponent = -exponent
    exponent -= behind
    if exponent < -MOST_EXACT or exponent > MOST_EXACT:
        return ASK_PYTHON
    number = <double>digits
    number = number / REPLICATOR_TENS[-exponent] if exponent < 0 else number * REPLICATOR_TENS[exponent]
    return put_real(out, leaf, -number if negative else number)


cdef inline int _digits(const char* text) noexcept nogil:
    """Of four hexadecimal digits; -1: they are none."""
    cdef int number = 0
    cdef int at
    cdef char digit
    for at in range(4):
        digit = text[at]
        if _is_digit(digit):
            number = number << 4 | (digit - c'0')
        elif (digit | 0x20) >= c'a' and (digit | 0x20) <= c'f':
            number = number << 4 | ((digit | 0x20) - c'a' + 10)
        else:
            return -1
    return number


cdef inline int _string(Out* out, const Leaf* leaf, const char* text, size_t size) noexcept nogil:
    """Escapes are resolved behind the place for the length, which is known then."""
    cdef char* start
    cdef char* end
    cdef char* to
    if memchr(text, c'\\', size) == NULL:
        return put_blob(out, leaf, text, size, 0)
    if reserve(out, size + 32) != OK:
        return NO_MEMORY
    start = out.base + out.used + 16
    end = unescaped_at(start, text, size)
    if end == NULL:
        return ASK_PYTHON
    size = end - start
    to = varint_at(_some_at(out.base + out.used, leaf), <uint64_t>size << 1)
    memmove(to, start, size)
    out.used = to + size - out.base
    return OK


cdef inline char* unescaped_at(char* o, const char* text, size_t size) noexcept nogil:
    """A JSON string without its quotes and escapes: as many bytes at most, so `o` may be `text`. Returns the place behind
    it; NULL: it is none."""
    cdef const char* end = text + size
    cdef const char* next_escape = <const char*>memchr(text, c'\\', size)
    cdef int code, low
    cdef char escape
    while next_escape != NULL:
        memmove(o, text, next_escape - text)
        o += next_escape - text
        text = next_escape + 2
        if text > end:
            return NULL
        escape = next_escape[1]
        if escape == c'u':
            code = _digits(text) if end - text >= 4 else -1
            text += 4
            if code >= 0xD800 and code < 0xDC00 and end - text >= 6 and text[0] == c'\\' and text[1] == c'u':
                low = _digits(text + 2)
                text += 6
                if low < 0xDC00 or low >= 0xE000:
                    return NULL
                code = 0x10000 + ((code & 0x3FF) << 10) + (low & 0x3FF)
            elif code < 0 or (code >= 0xD800 and code < 0xE000):
                return NULL
            o = _utf8_at(o, <uint32_t>code)
        else:
            if escape == c'n':
                escape = c'\n'
            elif escape == c't':
                escape = c'\t'
            elif escape == c'r':
                escape = c'\r'
            elif escape == c'b':
                escape = c'\b'
            elif escape == c'f':
                escape = c'\f'
            elif escape != c'"' and escape != c'\\' and escape != c'/':
                return NULL
            o[0] = escape
            o += 1
        next_escape = <const char*>memchr(text, c'\\', end - text)
    memmove(o, text, end - text)
    return o + (end - text)


cdef inline char* _utf8_at(char* o, uint32_t code) noexcept nogil:
    if code < 0x80:
        o[0] = <char>code
        return o + 1
    if code < 0x800:
        o[0] = <char>(0xC0 | code >> 6)
        o[1] = <char>(0x80 | code & 63)
        return o + 2
    if code < 0x10000:
        o[0] = <char>(0xE0 | code >> 12)
        o[1] = <char>(0x80 | code >> 6 & 63)
        o[2] = <char>(0x80 | code & 63)
        return o + 3
    o[0] = <char>(0xF0 | code >> 18)
    o[1] = <char>(0x80 | code >> 12 & 63)
    o[2] = <char>(0x80 | code >> 6 & 63)
    o[3] = <char>(0x80 | code & 63)
    return o + 4


cdef inline int _base64(Out* out, const Leaf* leaf, const char* text, size_t size) noexcept nogil:
    cdef size_t whole, at
    cdef int one, two, three, four
    cdef char* o
    if size & 3:
        return ASK_PYTHON
    whole = size // 4 * 3
    if size and text[size - 1] == c'=':
        whole -= 2 if text[size - 2] == c'=' else 1
    if reserve(out, whole + 16) != OK:
        return NO_MEMORY
    o = varint_at(_some_at(out.base + out.used, leaf), <uint64_t>whole << 1)
    at = 0
    while at < size:
        one = REPLICATOR_SIX[<uint8_t>text[at]]
        two = REPLICATOR_SIX[<uint8_t>text[at + 1]]
        three = REPLICATOR_SIX[<uint8_t>text[at + 2]]
        four = REPLICATOR_SIX[<uint8_t>text[at + 3]]
        if at + 4 == size:
            if text[at + 3] == c'=':
                four = 1
                if text[at + 2] == c'=':
                    three = 1
        if not (one and two and three and four):
            return ASK_PYTHON
        one = (one - 1) << 18 | (two - 1) << 12 | (three - 1) << 6 | (four - 1)
        o[0] = <char>(one >> 16)
        o[1] = <char>(one >> 8)
        o[2] = <char>one
        o += 3
        at += 4
    out.used = (o - out.base) - (size // 4 * 3 - whole)
    return OK
