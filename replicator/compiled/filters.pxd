# Evaluates row filters on raw values: reads all columns of the filter, then evaluates a tree of tests in prefix order.
#
# `decode.native.filters` creates both. Reading fails for a value that servers do not write, or for text that only Python can
# compare; the same filter in Python then decides.

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcmp

from replicator.compiled.codes cimport (
    ALL, ANY, BITS, BYTES, BYTES_TEST, CHARACTERS, COLUMNS, DATETIME_KEY, DATE_KEY, DECIMAL_KEY, DOUBLE_KEY, EQUAL,
    FALSE_TEST, FLOAT_KEY, GREATER, GREATER_OR_EQUAL, LESS, LESS_OR_EQUAL, LIKE, MEMBER, MEMBER_TEST, NOT_NULL, NULL_TEST,
    NUMBERS, NUMBER_TEST, PLAIN_ASCII, REALS, REAL_TEST, SIGNED_KEY, TIMESTAMP_KEY, TIME_KEY, TRUE_TEST, UNSIGNED_KEY,
    WIDES, WIDE_KEY, WIDE_TEST, YEAR_KEY,
)
from replicator.compiled.floats cimport double_at, single_at
from replicator.compiled.out cimport big, little, little_signed
from replicator.compiled.quoted cimport _sequence

cdef extern from "<string.h>" nogil:
    void* memmem(const void* one, size_t size, const void* other, size_t other_size)

ctypedef struct Reading:
    int kind
    int cut  # where the value is among those of the row
    int a
    int b

ctypedef struct Register:
    # A value as it is compared; `at` is NULL for SQL NULL.
    const uint8_t* at
    size_t size
    size_t padded  # bytes with the zeros that the binlog cuts off
    int64_t number
    uint64_t wide
    double real

ctypedef struct Constant:
    const char* text
    size_t size

ctypedef struct Condition:
    int kind
    int column
    int other
    int sign
    int behind  # the next test that is not inside this one
    bint wanted
    int64_t number
    uint64_t wide
    double real
    int count
    void* constants  # int64_t, uint64_t, double or Constant; of MEMBER_TEST a byte for each member


cdef inline int64_t _power(int exponent) noexcept nogil:
    cdef int64_t value = 1
    while exponent > 0:
        value *= 10
        exponent -= 1
    return value


cdef inline bint _decimal(const uint8_t* p, int digits, int scale, int64_t* number) noexcept nogil:
    """At most 18 digits, as a number of units of the last one. See `decode.values.decimals`."""
    cdef int whole = digits - scale
    cdef int left = digits
    cdef int group, size, at
    cdef uint8_t mask = 0 if p[0] & 0x80 else 0xFF
    cdef int64_t value = 0
    cdef int64_t part
    cdef uint8_t first = 0x80
    while left > 0:
        if left > scale:
            group = (left - scale) % 9
        else:
            group = left if left < 9 else 9
        if group == 0:
            group = 9
        size = (group + 1) // 2 if group < 9 else 4
        part = 0
        for at in range(size):
            part = part << 8 | (p[at] ^ mask ^ first)
            first = 0
        if part >= _power(group):
            return False
        value = value * _power(group) + part
        p += size
        left -= group
    number[0] = -value if mask else value
    return True


cdef inline bint _text(const uint8_t* p, size_t size, bint ascii) noexcept nogil:
    """Whether it is UTF-8, or ASCII."""
    cdef const uint8_t* end = p + size
    cdef int step
    while p < end:
        if end - p >= 8 and not little(p, 8) & 0x8080808080808080ULL:
            p += 8
        elif p[0] < 0x80:
            p += 1
        else:
            step = 0 if ascii else _sequence(p, end)
            if step == 0:
                return False
            p += step
    return True


cdef inline bint read_value(Register* to, Reading* how, const uint8_t* p, size_t size) noexcept nogil:
    """False: Python has to. `p` is not NULL."""
    cdef int kind = how.kind
    cdef int rest
    cdef int64_t whole, part
    to.at, to.size, to.padded = p, size, 0
    if kind == SIGNED_KEY:
        to.number = little_signed(p, <int>size)
    elif kind == UNSIGNED_KEY:
        to.number = <int64_t>little(p, <int>size)
    elif kind == WIDE_KEY:
        to.wide = little(p, <int>size)
    elif kind == BITS:
        to.wide = big(p, <int>size)
    elif kind == YEAR_KEY:
        to.number = 1900 + p[0] if p[0] else 0
    elif kind == DECIMAL_KEY:
        return _decimal(p, how.a, how.b, &to.number)
    elif kind == FLOAT_KEY:
        to.real = single_at(p)
    elif kind == DOUBLE_KEY:
        to.real = double_at(p)
    elif kind == MEMBER:
        to.number = <int64_t>little(p, <int>size)
        return to.number <= how.a
    elif kind == CHARACTERS:
        return _text(p, size, False)
    elif kind == PLAIN_ASCII:
        return _text(p, size, True)
    elif kind == BYTES:
        to.padded = how.a
    elif kind == DATE_KEY:
        whole = <int64_t>little(p, 3)
        part = whole >> 5 & 15
        if part > 12:
            return False
        to.number = (((whole >> 9) * 13 + part) << 22 | (whole & 31) << 17) << 20
    elif kind == DATETIME_KEY:
        rest = <int>size - 5
        part = <int64_t>big(p + 5, rest) * _power(6 - 2 * rest)
        to.number = (<int64_t>big(p, 5) & ((<int64_t>1 << 39) - 1)) << 20 | part
        return part < 1000000
    elif kind == TIMESTAMP_KEY:
        rest = <int>size - 4
        to.number = <int64_t>big(p, 4) * 1000000 + <int64_t>big(p + 4, rest) * _power(6 - 2 * rest)
    elif kind == TIME_KEY:
        rest = <int>size - 3
        part = <int64_t>big(p, <int>size) - (<int64_t>0x800000 << 8 * rest)
        whole = part if part >= 0 else -part
        to.number = ((whole >> 8 * rest >> 12) * 3600 + (whole >> 8 * rest >> 6 & 63) * 60 + (whole >> 8 * rest & 63)) * 1000000
        to.number += (whole & ((<int64_t>1 << 8 * rest) - 1)) * _power(6 - 2 * rest)
        if part < 0:
            to.number = -to.number
    else:
        return False
    return True


cdef inline int _order(Register* one, const uint8_t* other, size_t size) noexcept nogil:
    """Of bytes: below 0, 0, above 0."""
    cdef size_t shared = one.size if one.size < size else size
    cdef int found = memcmp(one.at, other, shared) if shared else 0
    cdef size_t length = one.size if one.size > one.padded else one.padded
    if found:
        return found
    while shared < size and shared < length:  # zeros that the binlog cuts off
        if other[shared]:
            return -1
        shared += 1
    return (length > size) - (length < size)


cdef inline bint _holds(int sign, int order) noexcept nogil:
    if sign == EQUAL:
        return order == 0
    if sign == LESS:
        return order < 0
    if sign == LESS_OR_EQUAL:
        return order <= 0
    if sign == GREATER:
        return order > 0
    if sign == GREATER_OR_EQUAL:
        return order >= 0
    return order != 0


cdef inline bint _real(int sign, double one, double other) noexcept nogil:
    """NaN differs from everything, and is neither below nor above."""
    if sign == EQUAL:
        return one == other
    if sign == LESS:
        return one < other
    if sign == LESS_OR_EQUAL:
        return one <= other
    if sign == GREATER:
        return one > other
    if sign == GREATER_OR_EQUAL:
        return one >= other
    return one != other


cdef inline bint _among(Condition* test, Register* value) noexcept nogil:
    """Whether it is one of the constants, which are in order, or of doubles."""
    cdef int low = 0
    cdef int high = test.count
    cdef int middle, order
    cdef Constant* text
    if test.kind == REALS:
        for middle in range(high):
            if (<double*>test.constants)[middle] == value.real:
                return True
        return False
    while low < high:
        middle = (low + high) // 2
        if test.kind == NUMBERS:
            order = _sides(value.number, (<int64_t*>test.constants)[middle])
        elif test.kind == WIDES:
            order = _wide_sides(value.wide, (<uint64_t*>test.constants)[middle])
        else:
            text = <Constant*>test.constants + middle
            order = _order(value, <const uint8_t*>text.text, text.size)
        if order == 0:
            return True
        if order < 0:
            high = middle
        else:
            low = middle + 1
    return False


cdef inline int _sides(int64_t one, int64_t other) noexcept nogil:
    return (one > other) - (one < other)


cdef inline int _wide_sides(uint64_t one, uint64_t other) noexcept nogil:
    return (one > other) - (one < other)


cdef inline bint _like(Condition* test, Register* value) noexcept nogil:
    """What a % skips is taken once: the first place where the next part fits is as good as any later one."""
    cdef Constant* part = <Constant*>test.constants
    cdef const uint8_t* p = value.at
    cdef const uint8_t* end = p + value.size
    cdef const uint8_t* found
    cdef int index
    if <size_t>(end - p) < part.size or memcmp(p, part.text, part.size) != 0:
        return False
    p += part.size
    if test.count == 1:
        return p == end
    for index in range(1, test.count - 1):
        part += 1
        if part.size:
            found = <const uint8_t*>memmem(p, end - p, part.text, part.size)
            if found == NULL:
                return False
            p = found + part.size
    part += 1
    return <size_t>(end - p) >= part.size and memcmp(end - part.size, part.text, part.size) == 0


cdef inline bint _columns(Condition* test, int kind, Register* one, Register* other) noexcept nogil:
    if other.at == NULL:
        return False
    if kind == FLOAT_KEY or kind == DOUBLE_KEY:
        return _real(test.sign, one.real, other.real)
    if kind == WIDE_KEY or kind == BITS:
        return _holds(test.sign, _wide_sides(one.wide, other.wide))
    if kind == CHARACTERS or kind == PLAIN_ASCII:
        return _holds(test.sign, _order(one, other.at, other.size))
    return _holds(test.sign, _sides(one.number, other.number))


cdef inline bint _leaf(Condition* test, Reading* readers, Register* registers) noexcept nogil:
    cdef int kind = test.kind
    cdef Register* value = registers + test.column
    if kind == TRUE_TEST or kind == FALSE_TEST:
        return kind == TRUE_TEST
    if kind == NULL_TEST or value.at == NULL:
        return kind == NULL_TEST and value.at == NULL
    if kind == NUMBER_TEST:
        return _holds(test.sign, _sides(value.number, test.number))
    if kind == BYTES_TEST:
        return _holds(test.sign, _order(value, <const uint8_t*>(<Constant*>test.constants).text, (<Constant*>test.constants).size))
    if kind == MEMBER_TEST:
        return (<const char*>test.constants)[value.number] != 0
    if kind == WIDE_TEST:
        return _holds(test.sign, _wide_sides(value.wide, test.wide))
    if kind == REAL_TEST:
        return _real(test.sign, value.real, test.real)
    if kind == LIKE:
        return _like(test, value) == test.wanted
    if kind == COLUMNS:
        return _columns(test, readers[test.column].kind, value, registers + test.other)
    if kind == NOT_NULL:
        return True
    return _among(test, value) == test.wanted


cdef inline bint passes(Condition* tests, Reading* readers, Register* registers) noexcept nogil:
    """Whether the first test holds; those inside of it follow it."""
    cdef int at = 0
    return _test(tests, &at, readers, registers)


cdef inline bint _test(Condition* tests, int* at, Reading* readers, Register* registers) noexcept nogil:
    """The one at `at`, which is then behind it. The first part that decides is the last that is looked at."""
    cdef Condition* test = tests + at[0]
    cdef bint every = test.kind == ALL
    cdef bint held
    at[0] += 1
    if test.kind != ALL and test.kind != ANY:
        return _leaf(test, readers, registers)
    while at[0] < test.behind:
        held = _test(tests, at, readers, registers)
        if held != every:
            at[0] = test.behind
            return held
    return every
