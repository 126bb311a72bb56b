# Writes floating point numbers with the shortest digits that read back as the same number, as `repr` does.
#
# Numbers that are not finite, subnormal numbers, and powers of two that take more than 15 digits (the gap below them is half
# the one above) are left to Python.

from libc.math cimport fabs, frexp, isfinite, rint, signbit
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdio cimport snprintf
from libc.stdlib cimport strtod
from libc.string cimport memcpy, memset

from replicator.compiled.out cimport ASK_PYTHON, NO_MEMORY, OK, Out, reserve, unsigned_at

cdef enum:
    MOST_DECIMALS = 9  # that are looked for without printing the number first

ctypedef struct Digits:
    char text[24]
    int count
    int exponent  # of the first digit: 1.25 has 0
    bint negative


cdef inline int _parse(const char* text, Digits* found) noexcept nogil:
    """Of "%.*e": [-]d.ddde[+-]dd."""
    cdef int sign = 1
    cdef int exponent = 0
    found.count = 0
    found.negative = text[0] == c'-'
    if found.negative:
        text += 1
    while text[0] != c'e':
        if text[0] >= c'0' and text[0] <= c'9':
            found.text[found.count] = text[0]
            found.count += 1
        elif text[0] != c'.':
            return ASK_PYTHON  # a locale with another point
        text += 1
    text += 1
    if text[0] == c'-':
        sign = -1
    text += 1
    while text[0]:
        exponent = exponent * 10 + text[0] - 48
        text += 1
    found.exponent = sign * exponent
    while found.count > 1 and found.text[found.count - 1] == c'0':
        found.count -= 1
    return OK


cdef inline bint _few_digits(double size, bint single, Digits* found) noexcept nogil:
    """Whether it is a number of few digits (12.5, 1999.0). Two numbers of up to 15 digits, 6 of the shorter type, are
    never the same: one that reads back is the one that is sought, and nothing shorter is."""
    cdef double scaled = rint(size)
    cdef double power = 1
    cdef int decimals = 0
    while scaled < (1e6 if single else 1e15):
        if (<double><float>(scaled / power) if single else scaled / power) == size:
            found.count = <int>(unsigned_at(found.text, <uint64_t>scaled) - found.text)
            found.exponent = found.count - 1 - decimals
            while found.count > 1 and found.text[found.count - 1] == c'0':
                found.count -= 1
            return True
        if decimals == MOST_DECIMALS:
            return False
        decimals += 1
        power *= 10
        scaled = rint(size * power)
    return False


cdef inline int digits_of(double value, bint single, Digits* found) noexcept nogil:
    cdef char text[40]
    cdef int exponent
    cdef int precision = 6 if single else 15
    cdef int least = precision
    cdef int most = 9 if single else 17
    cdef double size = fabs(value)
    found.negative = signbit(value) != 0
    if _few_digits(size, single, found):
        return OK
    if not isfinite(value) or size < (1.2e-38 if single else 2.3e-308):
        return ASK_PYTHON
    while precision < most:
        snprintf(text, 40, "%.*e", precision - 1, value)
        if single:
            if <float>strtod(text, NULL) == <float>value:
                break
        elif strtod(text, NULL) == value:
            break
        precision += 1
    if precision > least and frexp(size, &exponent) == 0.5:
        return ASK_PYTHON
    if precision == most:
        snprintf(text, 40, "%.*e", precision - 1, value)
    return _parse(text, found)


cdef inline char* plain_at(char* o, Digits* found) noexcept nogil:
    """Without exponent, at least one digit behind the point. For exponents from -10 to 21."""
    cdef int at
    if found.negative:
        o[0] = c'-'
        o += 1
    if found.exponent < 0:
        o[0] = c'0'
        o[1] = c'.'
        memset(o + 2, c'0', -found.exponent - 1)
        o += 1 - found.exponent
        memcpy(o, found.text, found.count)
        return o + found.count
    for at in range(found.exponent + 1):
        o[0] = found.text[at] if at < found.count else c'0'
        o += 1
    o[0] = c'.'
    o += 1
    if found.count <= found.exponent + 1:
        o[0] = c'0'
        return o + 1
    memcpy(o, found.text + found.exponent + 1, found.count - found.exponent - 1)
    return o + found.count - found.exponent - 1


cdef inline char* scientific_at(char* o, Digits* found) noexcept nogil:
    """Java's: 1.0E10."""
    cdef int exponent = found.exponent
    if found.negative:
        o[0] = c'-'
        o += 1
    o[0] = found.text[0]
    o[1] = c'.'
    o += 2
    if found.count == 1:
        o[0] = c'0'
        o += 1
    else:
        memcpy(o, found.text + 1, found.count - 1)
        o += found.count - 1
    o[0] = c'E'
    o += 1
    if exponent < 0:
        o[0] = c'-'
        o += 1
        exponent = -exponent
    if exponent >= 100:
        o[0] = <char>(48 + exponent // 100)
        o += 1
    if exponent >= 10:
        o[0] = <char>(48 + exponent // 10 % 10)
        o += 1
    o[0] = <char>(48 + exponent % 10)
    return o + 1


cdef inline int put_java(Out* out, double value, bint single, bint quoted) noexcept nogil:
    cdef Digits found
    cdef int status
    cdef char* o
    if reserve(out, 48) != OK:
        return NO_MEMORY
    o = out.base + out.used
    status = digits_of(value, single, &found)
    if status != OK:
        return status
    if quoted:
        o[0] = c'"'
        o += 1
    if -3 <= found.exponent < 7:
        o = plain_at(o, &found)
    else:
        o = scientific_at(o, &found)
    if quoted:
        o[0] = c'"'
        o += 1
    out.used = o - out.base
    return OK


cdef inline double double_at(const uint8_t* p) noexcept nogil:
    cdef double value
    memcpy(&value, p, 8)
    return value


cdef inline double single_at(const uint8_t* p) noexcept nogil:
    cdef float value
    memcpy(&value, p, 4)
    return value
