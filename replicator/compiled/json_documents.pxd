# JSON text as MySQL selects it -> its binary document. The twin, which says what is written how, is
# `mysql/row_images/json_document.py`; rare numbers are left to it.
#
# First a list of tokens, each container in front of its members; then, from the end of the list, the size that each
# value takes, which decides about small and large containers; then the document, with every offset known.

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport realloc, strtod
from libc.string cimport memcmp, memcpy

from replicator.compiled.out cimport ASK_PYTHON, NO_MEMORY, OK
from replicator.compiled.packed_values cimport little_endian

cdef enum:
    SMALL_OBJECT = 0
    LARGE_OBJECT = 1
    SMALL_ARRAY = 2
    LARGE_ARRAY = 3
    LITERAL = 4
    INT16 = 5
    INT32 = 7
    INT64 = 9
    UINT64 = 10
    DOUBLE = 11
    TEXT = 12
    FITS = 65536
    DEEPEST = 110  # MySQL takes 100
    NUMBER_MOST = 40

ctypedef struct Token:
    uint8_t kind
    uint32_t count  # members of a container
    size_t next  # token behind it and its members
    size_t at  # of text: where it begins
    size_t length  # of text: bytes as they are written; of a key, too
    size_t until  # of text: where it ends
    size_t size  # bytes of the value's body
    uint64_t bits  # of a number or literal

ctypedef struct Document:
    const uint8_t* text
    size_t at, end
    Token* tokens
    size_t used, room


cdef inline Token* _token(Document* d, uint8_t kind) noexcept nogil:
    cdef Token* moved
    if d.used == d.room:
        moved = <Token*>realloc(d.tokens, (2 * d.room + 64) * sizeof(Token))
        if moved == NULL:
            return NULL
        d.tokens = moved
        d.room = 2 * d.room + 64
    moved = d.tokens + d.used
    d.used += 1
    moved.kind = kind
    moved.count = 0
    moved.next = d.used
    moved.length = moved.size = moved.bits = 0
    return moved


cdef inline uint8_t _skip(Document* d) noexcept nogil:
    """The next character that is no space, which is not passed; 0 at the end."""
    while d.at < d.end and d.text[d.at] <= 32:
        d.at += 1
    return d.text[d.at] if d.at < d.end else 0


cdef inline int _hex4(const uint8_t* p) noexcept nogil:
    cdef int value = 0
    cdef int at
    cdef uint8_t c
    for at in range(4):
        c = p[at] | 0x20
        if c'0' <= p[at] <= c'9':
            value = value << 4 | p[at] - c'0'
        elif c'a' <= c <= c'f':
            value = value << 4 | c - c'a' + 10
        else:
            return -1
    return value


cdef inline int _string(Document* d) noexcept nogil:
    """At its quotation mark. Characters above 0x7F come as they are; MySQL writes \\u for control characters only."""
    cdef Token* token = _token(d, TEXT)
    cdef size_t at = d.at + 1
    cdef int code
    if token == NULL:
        return NO_MEMORY
    token.at = at
    while at < d.end and d.text[at] != c'"':
        if d.text[at] == c'\\':
            at += 1
            if at < d.end and d.text[at] == c'u':
                if at + 5 > d.end:
                    return ASK_PYTHON
                code = _hex4(d.text + at + 1)
                if not 0 <= code < 0x80:
                    return ASK_PYTHON
                at += 4
        token.length += 1
        at += 1
    if at >= d.end:
        return ASK_PYTHON
    token.until = at
    token.size = token.length + 1
    while token.size - token.length < 9 and token.length >> 7 * (token.size - token.length):
        token.size += 1
    d.at = at + 1
    return OK


cdef inline char* _text_at(char* o, Document* d, Token* token) noexcept nogil:
    cdef size_t at = token.at
    cdef uint8_t c
    if token.until - token.at == token.length:
        memcpy(o, d.text + at, token.length)
        return o + token.length
    while at < token.until:
        c = d.text[at]
        if c == c'\\':
            at += 1
            c = d.text[at]
            if c == c'u':
                c = <uint8_t>_hex4(d.text + at + 1)
                at += 4
            elif c == c'b':
                c = 8
            elif c == c'f':
                c = 12
            elif c == c'n':
                c = 10
            elif c == c'r':
                c = 13
            elif c == c't':
                c = 9
        o[0] = <char>c
        o += 1
        at += 1
    return o


cdef inline int _number(Document* d) noexcept nogil:
    cdef char text[NUMBER_MOST + 1]
    cdef size_t size = 0
    cdef size_t first = d.at
    cdef bint negative = d.text[d.at] == c'-'
    cdef bint plain = True
    cdef uint64_t value = 0
    cdef uint8_t c
    cdef double number
    cdef Token* token
    while d.at < d.end:
        c = d.text[d.at]
        if not (c'0' <= c <= c'9' or c == c'-' or c == c'+' or c == c'.' or c == c'e' or c == c'E'):
            break
        if size == NUMBER_MOST:
            return ASK_PYTHON
        text[size] = <char>c
        size += 1
        plain = plain and (c'0' <= c <= c'9' or (c == c'-' and d.at == first))
        d.at += 1
    text[size] = 0
    token = _token(d, DOUBLE)
    if token == NULL:
        return NO_MEMORY
    if not plain:
        if not _is_double(text, size):
            return ASK_PYTHON
        number = strtod(text, NULL)
        memcpy(&token.bits, &number, 8)
        token.size = 8
        return OK
    if size > 19 or size == negative or (negative and text[1] == c'0'):
        return ASK_PYTHON
    for first in range(<size_t>negative, size):
        value = value * 10 + <uint64_t>(text[first] - c'0')
    _integer(token, negative, value)
    return OK


cdef inline void _integer(Token* token, bint negative, uint64_t value) noexcept nogil:
    """Of at most 19 digits, or 18 and a sign: it is in the range of an int64_t where it has one."""
    token.bits = <uint64_t>(-<int64_t>value) if negative else value
    if value <= 0x7FFF + <uint64_t>negative:
        token.kind = INT16
        token.size = 2
    elif value <= 0x7FFFFFFF + <uint64_t>negative:
        token.kind = INT32
        token.size = 4
    else:
        token.kind = INT64 if negative or value < 1ULL << 32 else UINT64
        token.size = 8


cdef inline bint _is_double(const char* text, size_t size) noexcept nogil:
    """Whether this is how the shortest text of a DOUBLE looks: with an exponent, or at most 15 digits without a zero at
    the end. What is not sure is not one."""
    cdef size_t at = 1 if text[0] == c'-' else 0
    cdef size_t point = 0
    cdef size_t zeros = 0
    cdef int digits = 0
    cdef bint leading = True
    cdef size_t place
    for place in range(at, size):
        if text[place] == c'e' or text[place] == c'E':
            return size <= 30
        if text[place] == c'.':
            if point:
                return False
            point = place
            continue
        if leading and text[place] == c'0':
            zeros += point != 0
            continue
        leading = False
        digits += 1
    if not point or point == at or point == size - 1 or digits > 15:
        return False
    if text[size - 1] == c'0':
        return point == size - 2
    return not (leading is False and text[at] == c'0' and zeros > 3)


cdef inline int _value(Document* d, int depth) noexcept nogil:
    cdef uint8_t c = _skip(d)
    cdef size_t own, last
    cdef int status
    cdef Token* token
    if c == c'"':
        return _string(d)
    if c == c'-' or c'0' <= c <= c'9':
        return _number(d)
    if c == c'{' or c == c'[':
        if depth == DEEPEST:
            return ASK_PYTHON
        own = d.used
        token = _token(d, SMALL_OBJECT if c == c'{' else SMALL_ARRAY)
        if token == NULL:
            return NO_MEMORY
        status = _members(d, own, c == c'{', depth)
        d.tokens[own].next = d.used
        return status
    token = _token(d, LITERAL)
    if token == NULL:
        return NO_MEMORY
    token.size = 1
    if d.end - d.at >= 4 and memcmp(d.text + d.at, b"null", 4) == 0:
        d.at += 4
    elif d.end - d.at >= 4 and memcmp(d.text + d.at, b"true", 4) == 0:
        token.bits = 1
        d.at += 4
    elif d.end - d.at >= 5 and memcmp(d.text + d.at, b"false", 5) == 0:
        token.bits = 2
        d.at += 5
    else:
        return ASK_PYTHON
    return OK


cdef inline int _members(Document* d, size_t own, bint keys, int depth) noexcept nogil:
    """At the opening bracket of token `own`."""
    cdef uint8_t closing = c'}' if keys else c']'
    cdef int status
    d.at += 1
    if _skip(d) == closing:
        d.at += 1
        return OK
    while True:
        if keys:
            if _skip(d) != c'"':
                return ASK_PYTHON
            status = _string(d)
            if status != OK:
                return status
            if d.tokens[d.used - 1].length >= FITS or _skip(d) != c':':
                return ASK_PYTHON
            d.at += 1
        status = _value(d, depth + 1)
        if status != OK:
            return status
        d.tokens[own].count += 1
        if _skip(d) == closing:
            d.at += 1
            return OK
        if _skip(d) != c',':
            return ASK_PYTHON
        d.at += 1


cdef inline bint _inline(Token* token, bint large) noexcept nogil:
    return token.kind in (LITERAL, INT16) or (large and token.kind == INT32)


cdef inline void _measure(Document* d) noexcept nogil:
    """The sizes of containers, from the last one on: members come behind their container."""
    cdef size_t at = d.used
    cdef size_t member, place, small, large
    cdef bint keys
    cdef Token* own
    cdef Token* value
    while at:
        at -= 1
        own = d.tokens + at
        if own.kind not in (SMALL_OBJECT, SMALL_ARRAY):
            continue
        keys = own.kind == SMALL_OBJECT
        small = 4 + <size_t>own.count * (7 if keys else 3)
        large = 8 + <size_t>own.count * (11 if keys else 5)
        place = at + 1
        for member in range(own.count):
            if keys:
                small += d.tokens[place].length
                large += d.tokens[place].length
                place += 1
            value = d.tokens + place
            small += 0 if _inline(value, False) else value.size
            large += 0 if _inline(value, True) else value.size
            place = value.next
        if small >= FITS or own.count >= FITS:
            own.kind += 1
            own.size = large
        else:
            own.size = small


cdef inline int parse(Document* d) noexcept nogil:
    """`text`, `at` and `end` are set. OK: tokens[0] is the document, with its size."""
    cdef int status
    d.used = 0
    status = _value(d, 0)
    if status == OK and _skip(d) != 0:
        status = ASK_PYTHON
    if status == OK:
        _measure(d)
    return status


cdef inline char* body_at(char* o, Document* d, size_t at) noexcept nogil:
    """The body of token `at`, of `tokens[at].size` bytes."""
    cdef Token* token = d.tokens + at
    cdef size_t left
    if token.kind == TEXT:
        left = token.length
        while left > 0x7F:
            o[0] = <char>(left & 0x7F | 0x80)
            o += 1
            left >>= 7
        o[0] = <char>left
        return _text_at(o + 1, d, token)
    if token.kind >= LITERAL:
        return little_endian(o, token.bits, <int>token.size)
    return _container_at(o, d, at)


cdef inline char* _container_at(char* o, Document* d, size_t at) noexcept nogil:
    cdef Token* own = d.tokens + at
    cdef bint large = own.kind & 1
    cdef bint keys = own.kind <= LARGE_OBJECT
    cdef int width = 4 if large else 2
    cdef char* entry = little_endian(little_endian(o, own.count, width), own.size, width)
    cdef char* tail = entry + own.count * <size_t>((width + 2 if keys else 0) + 1 + width)
    cdef size_t place = at + 1
    cdef size_t member
    cdef Token* value
    if keys:
        for member in range(own.count):
            entry = little_endian(entry, tail - o, width)
            entry = little_endian(entry, d.tokens[place].length, 2)
            tail = _text_at(tail, d, d.tokens + place)
            place = d.tokens[place + 1].next
    place = at + 1
    for member in range(own.count):
        place += keys
        value = d.tokens + place
        entry[0] = <char>value.kind
        entry += 1
        if _inline(value, large):
            entry = little_endian(entry, value.bits & 0xFFFF if value.kind == INT16 else value.bits, width)
        else:
            entry = little_endian(entry, tail - o, width)
            tail = body_at(tail, d, place)
        place = value.next
    return tail
