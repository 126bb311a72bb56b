# Converts MySQL's binary JSON to JSON text, as `decode/values/json_binary.py` does, in Canal's notation (`canal_json.py`), and for
# SQL statements (`sink/mysql/sql/json_literals.py`).
#
# Rare values (opaque values, doubles with an exponent, bytes that are not UTF-8) and invalid ones are left to Python.

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from libc.string cimport memchr

from replicator.compiled.floats cimport Digits, digits_of, double_at, plain_at, put_java
from replicator.compiled.out cimport (
    ASK_PYTHON, NO_MEMORY, OK, Out, little, little_signed, put, put_signed, put_unsigned, reserve,
)
from replicator.compiled.quoted cimport LOWER, RAW_BEYOND, put_quoted

cdef enum:
    MOST_DEPTH = 100  # the servers' own limit

cdef enum:
    COMPACT = 0  # Debezium's
    EXACT = 2  # as COMPACT, of which a server makes the same document: not where a number would have another type
    SPACED = 1  # Canal's: ", " and ": ", doubles as Java writes them, U+007F to U+00A0 escaped, in lower case


cdef inline int put_document(Out* out, const uint8_t* raw, size_t size, int style) noexcept nogil:
    if size == 0:
        return put(out, "null", 4)
    # Entries that share one value would multiply without end; no honest document grows more.
    return _value(out, raw[0], raw, size, 1, 0, style, out.used + 8 * size + 64)


cdef inline int _value(
    Out* out, int kind, const uint8_t* raw, size_t size, size_t at, int depth, int style, size_t limit
) noexcept nogil:
    """The value of type `kind` whose bytes start at `at`."""
    cdef int width
    if kind <= 3:
        return _container(out, kind, raw, size, at, depth, style, limit)
    if kind == 4:
        if at >= size:
            return ASK_PYTHON
        if raw[at] == 0:
            return put(out, "null", 4)
        if raw[at] == 1:
            return put(out, "true", 4)
        if raw[at] == 2:
            return put(out, "false", 5)
        return ASK_PYTHON
    if 5 <= kind <= 10:
        width = 2 if kind <= 6 else 4 if kind <= 8 else 8
        if at + width > size:
            return ASK_PYTHON
        if style == EXACT and (kind & 1 == 0) != _is_unsigned(raw + at, width, kind & 1):
            return ASK_PYTHON
        if kind & 1:
            return put_signed(out, little_signed(raw + at, width))
        return put_unsigned(out, little(raw + at, width))
    if kind == 11:
        return _double(out, raw, size, at, style)
    if kind == 12:
        return _string(out, raw, size, at, style)
    return ASK_PYTHON


cdef inline bint _is_unsigned(const uint8_t* p, int width, bint signed) noexcept nogil:
    """Whether MySQL's parser makes an UNSIGNED INTEGER of the number."""
    if signed:
        return little_signed(p, width) > 0xFFFFFFFFLL
    return little(p, width) > 0xFFFFFFFFULL


cdef inline int _double(Out* out, const uint8_t* raw, size_t size, size_t at, int style) noexcept nogil:
    cdef Digits found
    if at + 8 > size or reserve(out, 40) != OK:
        return ASK_PYTHON
    if style == SPACED:
        return put_java(out, double_at(raw + at), False, False)
    if digits_of(double_at(raw + at), False, &found) != OK or found.exponent < -3 or found.exponent > 6:
        return ASK_PYTHON
    out.used = plain_at(out.base + out.used, &found) - out.base
    return OK


cdef inline int _string(Out* out, const uint8_t* raw, size_t size, size_t at, int style) noexcept nogil:
    """Behind a length of 1 to 5 bytes, seven bits each, lowest first."""
    cdef uint64_t length = 0
    cdef int shift = 0
    cdef uint8_t byte
    while True:
        if at >= size or shift > 28:
            return ASK_PYTHON
        byte = raw[at]
        at += 1
        length |= <uint64_t>(byte & 0x7F) << shift
        if not byte & 0x80:
            break
        shift += 7
    if length > size - at:
        return ASK_PYTHON
    return _text(out, raw + at, length, style)


cdef inline int _text(Out* out, const uint8_t* p, size_t size, int style) noexcept nogil:
    if style != SPACED:
        return put_quoted(out, p, size, RAW_BEYOND)
    if size and (
        memchr(p, 0x7F, size) != NULL
        or memchr(p, 0xC2, size) != NULL  # U+0080 to U+00BF begin so
        or memchr(p, c'\b', size) != NULL
        or memchr(p, c'\f', size) != NULL
    ):
        return ASK_PYTHON
    return put_quoted(out, p, size, RAW_BEYOND | LOWER)


cdef inline int _put_mark(Out* out, char mark, int style) noexcept nogil:
    if reserve(out, 2) != OK:
        return NO_MEMORY
    out.base[out.used] = mark
    out.base[out.used + 1] = c' '
    out.used += 2 if style == SPACED else 1
    return OK


cdef inline int _container(
    Out* out, int kind, const uint8_t* raw, size_t size, size_t base, int depth, int style, size_t limit
) noexcept nogil:
    """Object (0, large 1) or array (2, large 3): count, size, key entries, value entries; offsets count from `base`."""
    cdef bint large = kind & 1
    cdef bint is_object = kind <= 1
    cdef int width = 4 if large else 2
    cdef size_t entry = base + 2 * width
    cdef size_t key_entry, count, index, place, start, length
    cdef int inner, status
    if depth > MOST_DEPTH or entry > size:
        return ASK_PYTHON
    count = little(raw + base, width)
    if base + little(raw + base + width, width) > size or count > size:
        return ASK_PYTHON
    key_entry = entry
    if is_object:
        entry += count * (width + 2)
    if entry + count * (width + 1) > size:
        return ASK_PYTHON
    if put(out, "{" if is_object else "[", 1) != OK:
        return NO_MEMORY
    for index in range(count):
        if index and _put_mark(out, c',', style) != OK:
            return NO_MEMORY
        if is_object:
            start = base + little(raw + key_entry, width)
            length = little(raw + key_entry + width, 2)
            key_entry += width + 2
            if start + length > size:
                return ASK_PYTHON
            status = _text(out, raw + start, length, style)
            if status != OK:
                return status
            if _put_mark(out, c':', style) != OK:
                return NO_MEMORY
        inner = raw[entry]
        if 4 <= inner <= 6 or (large and (inner == 7 or inner == 8)):
            place = entry + 1
        else:
            place = base + little(raw + entry + 1, width)
            if place <= entry:
                return ASK_PYTHON
        status = _value(out, inner, raw, size, place, depth + 1, style, limit)
        if status != OK:
            return status
        if out.used > limit:
            return ASK_PYTHON
        entry += 1 + width
    return put(out, "}" if is_object else "]", 1)
