# Writes JSON strings, as `model.json_string.quote` does, and bytes as Base64, hexadecimal digits or characters.

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from replicator.compiled.out cimport ASK_PYTHON, NO_MEMORY, OK, Out, ctzll, little, reserve

cdef extern from *:
    """
    static const char REPLICATOR_HEX[] = "0123456789ABCDEF";
    static const char REPLICATOR_BASE64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static const char REPLICATOR_BASE64_URL[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    /* What follows a backslash: a letter, or 1 for \\u00XX. 0: needs no escape. */
    static const unsigned char REPLICATOR_ESCAPE[256] = {
        1, 1, 1, 1, 1, 1, 1, 1, 'b', 't', 'n', 1, 'f', 'r', 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        ['"'] = '"', ['\\\\'] = '\\\\',
    };
    """
    const char* REPLICATOR_HEX
    const char* REPLICATOR_BASE64
    const char* REPLICATOR_BASE64_URL
    const unsigned char* REPLICATOR_ESCAPE

cdef enum:
    RAW_BEYOND = 1  # characters beyond the BMP stay as they are, instead of a pair of escaped surrogates
    LOWER = 2  # \\u00XX with lower-case digits


cdef inline uint64_t _special(uint64_t x) noexcept nogil:
    """Not 0 when one of the eight bytes is below 0x20, a quote, a backslash, or above 0x7F; the lowest bit that is set is
    the highest of the first such byte. (A borrow may set some behind that.)"""
    cdef uint64_t ones = 0x0101010101010101ULL
    cdef uint64_t quotes = x ^ ones * 0x22
    cdef uint64_t backslashes = x ^ ones * 0x5C
    return (x | (x - ones * 0x20) | (quotes - ones) | (backslashes - ones)) & (ones << 7)


cdef inline int _sequence(const uint8_t* p, const uint8_t* end) noexcept nogil:
    """Bytes of the UTF-8 character that begins with a byte above 0x7F; 0 when it is none."""
    cdef uint8_t first = p[0]
    cdef Py_ssize_t left = end - p
    if first < 0xC2 or left < 2 or p[1] & 0xC0 != 0x80:
        return 0
    if first < 0xE0:
        return 2
    if first < 0xF0:
        if left < 3 or p[2] & 0xC0 != 0x80:
            return 0
        if (first == 0xE0 and p[1] < 0xA0) or (first == 0xED and p[1] > 0x9F):
            return 0
        return 3
    if first > 0xF4 or left < 4 or p[2] & 0xC0 != 0x80 or p[3] & 0xC0 != 0x80:
        return 0
    if (first == 0xF0 and p[1] < 0x90) or (first == 0xF4 and p[1] > 0x8F):
        return 0
    return 4


cdef inline bint is_utf8(const uint8_t* p, size_t size) noexcept nogil:
    cdef const uint8_t* end = p + size
    cdef uint64_t eight
    cdef int length
    while p < end:
        if end - p >= 8:
            memcpy(&eight, p, 8)
            if not eight & 0x8080808080808080ULL:
                p += 8
                continue
        if p[0] < 0x80:
            p += 1
            continue
        length = _sequence(p, end)
        if length == 0:
            return False
        p += length
    return True


cdef inline char* _unicode(char* o, uint32_t code) noexcept nogil:
    o[0] = c'\\'
    o[1] = c'u'
    o[2] = REPLICATOR_HEX[code >> 12 & 15]
    o[3] = REPLICATOR_HEX[code >> 8 & 15]
    o[4] = REPLICATOR_HEX[code >> 4 & 15]
    o[5] = REPLICATOR_HEX[code & 15]
    return o + 6


cdef inline int put_escaped(Out* out, const uint8_t* p, size_t size, int style) noexcept nogil:
    """UTF-8 as it stands between quotes. ASK_PYTHON, with some of it written, for bytes that are not UTF-8."""
    cdef const uint8_t* end = p + size
    cdef char* o
    cdef uint64_t eight, special
    cdef uint32_t code
    cdef int plain
    cdef uint8_t escape
    if reserve(out, size + 64) != OK:
        return NO_MEMORY
    o = out.base + out.used
    while p < end:
        # Spaces behind the last bytes. What is written of them, and behind a special one, is written over.
        plain = 8 if end - p >= 8 else <int>(end - p)
        eight = little(p, plain)
        if plain < 8:
            eight |= 0x2020202020202020ULL << 8 * plain
        special = _special(eight)
        if special:
            plain = ctzll(special) >> 3
        memcpy(o, &eight, 8)
        o += plain
        p += plain
        if not special:
            continue
        # It takes 12 bytes at most, and each of the rest as many as it has, for now.
        if out.base + out.room - o < (end - p) + 64:
            out.used = o - out.base
            if reserve(out, 2 * (end - p) + 256) != OK:
                return NO_MEMORY
            o = out.base + out.used
        if p[0] < 0x80:
            escape = REPLICATOR_ESCAPE[p[0]]
            if escape == 1:
                o = _unicode(o, p[0])
                if style & LOWER and p[0] & 15 > 9:
                    (o - 1)[0] = REPLICATOR_HEX[p[0] & 15] | 0x20
            else:
                o[0] = c'\\'
                o[1] = <char>escape
                o += 2
            p += 1
            continue
        while p < end and p[0] >= 0x80:
            code = _sequence(p, end)
            if code == 0:
                out.used = o - out.base
                return ASK_PYTHON
            if code == 4 and not style & RAW_BEYOND:
                code = (p[0] & 7) << 18 | (p[1] & 63) << 12 | (p[2] & 63) << 6 | (p[3] & 63)
                code -= 0x10000
                o = _unicode(o, 0xD800 + (code >> 10))
                o = _unicode(o, 0xDC00 + (code & 0x3FF))
                p += 4
                break
            while code > 0:
                o[0] = <char>p[0]
                o += 1
                p += 1
                code -= 1
    out.used = o - out.base
    return OK


cdef inline int put_quoted(Out* out, const uint8_t* p, size_t size, int style) noexcept nogil:
    cdef int status
    if reserve(out, size + 66) != OK:
        return NO_MEMORY
    out.base[out.used] = c'"'
    out.used += 1
    status = put_escaped(out, p, size, style)
    if status != OK:
        return status
    if reserve(out, 1) != OK:
        return NO_MEMORY
    out.base[out.used] = c'"'
    out.used += 1
    return OK


cdef inline int put_plain_ascii(Out* out, const uint8_t* p, size_t size) noexcept nogil:
    """Quoted ASCII without escapes; ASK_PYTHON for everything else: text in other character sets."""
    cdef const uint8_t* end = p + size
    cdef char* o
    cdef uint64_t eight
    if reserve(out, size + 2) != OK:
        return NO_MEMORY
    o = out.base + out.used
    o[0] = c'"'
    o += 1
    while end - p >= 8:
        memcpy(&eight, p, 8)
        if _special(eight):
            return ASK_PYTHON
        memcpy(o, &eight, 8)
        p += 8
        o += 8
    while p < end:
        if p[0] >= 0x80 or REPLICATOR_ESCAPE[p[0]] != 0:
            return ASK_PYTHON
        o[0] = <char>p[0]
        o += 1
        p += 1
    o[0] = c'"'
    out.used = o + 1 - out.base
    return OK


cdef inline int put_base64(Out* out, const uint8_t* p, size_t size, size_t padded, bint url) noexcept nogil:
    """Quoted Base64 of the bytes and of zeros behind them up to `padded` bytes."""
    cdef const char* letters = REPLICATOR_BASE64_URL if url else REPLICATOR_BASE64
    cdef size_t whole = size if size > padded else padded
    cdef size_t at = 0
    cdef uint32_t three
    cdef char* o
    if reserve(out, (whole + 2) // 3 * 4 + 2) != OK:
        return NO_MEMORY
    o = out.base + out.used
    o[0] = c'"'
    o += 1
    while at < whole:
        if at + 3 <= size:
            three = <uint32_t>p[at] << 16 | <uint32_t>p[at + 1] << 8 | p[at + 2]
        else:
            three = (<uint32_t>p[at] << 16 if at < size else 0) | (<uint32_t>p[at + 1] << 8 if at + 1 < size else 0)
        o[0] = letters[three >> 18]
        o[1] = letters[three >> 12 & 63]
        o[2] = letters[three >> 6 & 63] if at + 1 < whole else c'='
        o[3] = letters[three & 63] if at + 2 < whole else c'='
        at += 3
        o += 4
    o[0] = c'"'
    out.used = o + 1 - out.base
    return OK


cdef inline int put_hex(Out* out, const uint8_t* p, size_t size, size_t padded) noexcept nogil:
    """Quoted lower-case digits of the bytes and of zeros behind them up to `padded` bytes."""
    cdef size_t whole = size if size > padded else padded
    cdef size_t at
    cdef uint8_t byte
    cdef char* o
    if reserve(out, 2 * whole + 2) != OK:
        return NO_MEMORY
    o = out.base + out.used
    o[0] = c'"'
    o += 1
    for at in range(whole):
        byte = p[at] if at < size else 0
        o[0] = REPLICATOR_HEX[byte >> 4] | 0x20
        o[1] = REPLICATOR_HEX[byte & 15] | 0x20
        o += 2
    o[0] = c'"'
    out.used = o + 1 - out.base
    return OK


cdef inline int put_reversed(Out* out, const uint8_t* p, size_t size) noexcept nogil:
    """Quoted Base64 of at most eight bytes, the last one first."""
    cdef uint8_t turned[8]
    cdef size_t at
    if size > 8:
        return ASK_PYTHON
    for at in range(size):
        turned[at] = p[size - 1 - at]
    return put_base64(out, turned, size, 0, False)


cdef inline int put_unscaled(Out* out, uint64_t value) noexcept nogil:
    """Quoted Base64 of its two's complement, highest byte first, in as few bytes as hold it with a sign."""
    cdef uint8_t raw[9]
    cdef int at
    cdef int first = 8
    for at in range(9):
        raw[8 - at] = <uint8_t>(value >> 8 * at) if at < 8 else 0
    while first > 0 and value >> (8 * (8 - first) + 7):
        first -= 1
    return put_base64(out, raw + first, 9 - first, 0, False)


cdef inline int put_latin1(Out* out, const uint8_t* p, size_t size, size_t padded) noexcept nogil:
    """Quoted text of one character per byte (ISO 8859-1) and of zeros behind them, escapes in lower case."""
    cdef size_t whole = size if size > padded else padded
    cdef size_t at
    cdef uint8_t byte, escape
    cdef char* o
    if reserve(out, 6 * whole + 2) != OK:
        return NO_MEMORY
    o = out.base + out.used
    o[0] = c'"'
    o += 1
    for at in range(whole):
        byte = p[at] if at < size else 0
        escape = REPLICATOR_ESCAPE[byte]
        if byte >= 0x80:
            o[0] = <char>(0xC0 | byte >> 6)
            o[1] = <char>(0x80 | byte & 63)
            o += 2
        elif escape == 0:
            o[0] = <char>byte
            o += 1
        elif escape == 1:
            o = _unicode(o, byte)
            (o - 1)[0] = REPLICATOR_HEX[byte & 15] | 0x20
        else:
            o[0] = c'\\'
            o[1] = <char>escape
            o += 2
    o[0] = c'"'
    out.used = o + 1 - out.base
    return OK
