"""Row images of a source as those of a table whose columns have another order, or wider types.

The twin, which owns every rule: `sink/mysql/transcoding.py`.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memmove, memset
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE

from replicator.compiled.out cimport NO_MEMORY, OK, Out, big, little, little_signed, put, reserve

ABI = 14

cdef enum Kind:
    COPY = 0
    LITTLE = 1
    BIG = 2
    PREFIX = 3
    DOUBLE = 4
    FRACTION = 5
    DECIMAL = 6
    LATIN1 = 7

cdef enum:
    DAMAGED = 5
    GROUP = 9  # digits in four bytes
    MOST_DIGITS = 80
    MOST_COLUMNS = 4096

cdef int[10] DIGIT_BYTES = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4]

ctypedef struct Step:
    int kind
    int column
    int given
    int stored
    int first
    int second


cdef class Transcoder:
    """Of one plan: bytes of each column of the source's images, and the steps."""

    cdef int columns, count
    cdef int64_t* sizes
    cdef Step* steps
    cdef const uint8_t** values  # of the image at hand; NULL: NULL
    cdef size_t* lengths
    cdef uint8_t[256][4] latin1
    cdef uint8_t[256] latin1_sizes

    def __cinit__(self, sizes, steps, latin1):
        cdef int index
        self.columns, self.count = len(sizes), len(steps)
        if not 0 <= self.columns <= MOST_COLUMNS or not 0 <= self.count <= MOST_COLUMNS or len(latin1) != 256:
            raise ValueError("no such plan")
        self.sizes = <int64_t*>calloc(self.columns + 1, sizeof(int64_t))
        self.steps = <Step*>calloc(self.count + 1, sizeof(Step))
        self.values = <const uint8_t**>calloc(self.columns + 1, sizeof(uint8_t*))
        self.lengths = <size_t*>calloc(self.columns + 1, sizeof(size_t))
        if self.sizes == NULL or self.steps == NULL or self.values == NULL or self.lengths == NULL:
            raise MemoryError
        for index, size in enumerate(sizes):
            self.sizes[index] = size
        for index, (kind, column, given, stored, first, second) in enumerate(steps):
            if not 0 <= column < self.columns or not 0 <= given <= 64 or not 0 <= stored <= 64:
                raise ValueError("no such step")
            self.steps[index] = Step(kind, column, given, stored, first, second)
        for index, text in enumerate(latin1):
            self.latin1_sizes[index] = len(text)
            for place, byte in enumerate(text):
                self.latin1[index][place] = byte

    def __dealloc__(self):
        free(self.sizes)
        free(self.steps)
        free(self.values)
        free(self.lengths)

    def run(self, bytes images, int of_row, size_t most):
        cdef const uint8_t* p = <const uint8_t*>PyBytes_AS_STRING(images)
        cdef const uint8_t* end = p + PyBytes_GET_SIZE(images)
        cdef list found = []
        cdef Out out
        cdef size_t begin
        cdef int rows = 0
        cdef int status = OK
        out.base, out.used, out.room = NULL, 0, 0
        try:
            while p < end:
                begin = out.used
                with nogil:
                    status = self._row(&p, end, of_row, &out)
                    while status == OK and p < end and out.used <= most:
                        rows += 1
                        begin = out.used
                        status = self._row(&p, end, of_row, &out)
                if status == DAMAGED:
                    raise ValueError("an image beyond the end of its run")
                if status != OK:
                    raise MemoryError
                if out.used > most and rows:
                    found.append((rows, PyBytes_FromStringAndSize(out.base, begin)))
                    memmove(out.base, out.base + begin, out.used - begin)
                    out.used -= begin
                    rows = 0
                rows += 1
            if rows:
                found.append((rows, PyBytes_FromStringAndSize(out.base, out.used)))
        finally:
            free(out.base)
        return found

    cdef int _row(self, const uint8_t** p, const uint8_t* end, int of_row, Out* out) noexcept nogil:
        cdef int number, status
        for number in range(of_row):
            p[0] = self._walk(p[0], end)
            if p[0] == NULL:
                return DAMAGED
            status = self._image(out)
            if status != OK:
                return status
        return OK

    cdef const uint8_t* _walk(self, const uint8_t* p, const uint8_t* end) noexcept nogil:
        """The end of an image, whose values are known then; NULL: it goes on behind `end`."""
        cdef const uint8_t* nulls = p
        cdef int column
        cdef int64_t size
        if end - p < (self.columns + 7) >> 3:
            return NULL
        p += (self.columns + 7) >> 3
        for column in range(self.columns):
            if nulls[column >> 3] >> (column & 7) & 1:
                self.values[column] = NULL
                continue
            size = self.sizes[column]
            if size < 0:
                if end - p < -size:
                    return NULL
                size = -size + <int64_t>little(p, <int>-size)
            if size > end - p:
                return NULL
            self.values[column], self.lengths[column] = p, <size_t>size
            p += size
        return p

    cdef int _image(self, Out* out) noexcept nogil:
        cdef size_t start = out.used
        cdef int bitmap = (self.count + 7) >> 3
        cdef int place, status
        cdef uint8_t* nulls
        cdef Step* step
        if reserve(out, bitmap) != OK:
            return NO_MEMORY
        memset(out.base + start, 0, bitmap)
        if self.count & 7:
            (<uint8_t*>out.base)[start + bitmap - 1] = <uint8_t>(0xFF << (self.count & 7))
        out.used += bitmap
        for place in range(self.count):
            step = self.steps + place
            if self.values[step.column] == NULL:
                nulls = <uint8_t*>out.base + start
                nulls[place >> 3] |= <uint8_t>(1 << (place & 7))
                continue
            status = self._value(step, self.values[step.column], self.lengths[step.column], out)
            if status != OK:
                return status
        return OK

    cdef int _value(self, Step* step, const uint8_t* p, size_t size, Out* out) noexcept nogil:
        cdef uint64_t number
        cdef double wide
        cdef float narrow
        if step.kind == COPY:
            return put(out, p, size)
        if step.kind == LITTLE:
            number = <uint64_t>little_signed(p, step.given) if step.first else little(p, step.given)
            return put(out, &number, step.stored)
        if step.kind == BIG:
            return self._zeros(step.stored - step.given, out) or put(out, p, size)
        if step.kind == PREFIX:
            number = size - step.given
            return put(out, &number, step.stored) or put(out, p + step.given, size - step.given)
        if step.kind == DOUBLE:
            memcpy(&narrow, p, 4)
            wide = narrow
            return put(out, &wide, 8)
        if step.kind == FRACTION:
            return self._fraction(step, p, size, out)
        if step.kind == DECIMAL:
            return self._decimal(step, p, size, out)
        return self._text(step, p + step.given, size - step.given, out)

    cdef int _zeros(self, int count, Out* out) noexcept nogil:
        if reserve(out, count) != OK:
            return NO_MEMORY
        memset(out.base + out.used, 0, count)
        out.used += count
        return OK

    cdef int _fraction(self, Step* step, const uint8_t* p, size_t size, Out* out) noexcept nogil:
        cdef int behind = step.given - step.first
        cdef int64_t number = <int64_t>big(p + step.first, behind)
        cdef int wanted = behind + step.stored - step.given
        cdef int index
        cdef uint8_t[8] written
        if step.second and number and p[0] < 0x80:
            number -= <int64_t>1 << 8 * behind
        for index in range(step.stored - step.given):
            number *= 100
        for index in range(wanted):
            written[wanted - 1 - index] = <uint8_t>(<uint64_t>number >> 8 * index)
        return put(out, p, step.first) or put(out, written, wanted)

    cdef int _decimal(self, Step* step, const uint8_t* p, size_t size, Out* out) noexcept nogil:
        cdef uint8_t[MOST_DIGITS] digits
        cdef uint8_t[MOST_DIGITS] wider
        cdef int whole = (step.first >> 8) - (step.first & 0xFF)
        cdef int part = step.first & 0xFF
        cdef int more = (step.second >> 8) - (step.second & 0xFF)
        cdef int behind = step.second & 0xFF
        cdef uint8_t mask = 0 if p[0] & 0x80 else 0xFF
        cdef int at, index
        if whole + part >= MOST_DIGITS or more + behind >= MOST_DIGITS or more < whole or behind < part:
            return DAMAGED
        memset(digits, 0, MOST_DIGITS)
        memset(wider, 0, MOST_DIGITS)
        _read_digits(p, mask, whole, part, digits)
        memcpy(wider + more - whole, digits, whole + part)
        if reserve(out, 64) != OK:
            return NO_MEMORY
        at = <int>_write_digits(<uint8_t*>out.base + out.used, mask, more, behind, wider)
        (<uint8_t*>out.base)[out.used] ^= 0x80
        out.used += at
        return OK

    cdef int _text(self, Step* step, const uint8_t* p, size_t size, Out* out) noexcept nogil:
        cdef size_t start = out.used
        cdef size_t index
        cdef uint64_t length
        cdef char* o
        if reserve(out, step.stored + 4 * size) != OK:
            return NO_MEMORY
        o = out.base + start + step.stored
        for index in range(size):
            memcpy(o, self.latin1[p[index]], 4)
            o += self.latin1_sizes[p[index]]
        length = o - (out.base + start + step.stored)
        memcpy(out.base + start, &length, step.stored)
        out.used = o - out.base
        return OK


cdef void _read_digits(const uint8_t* p, uint8_t mask, int whole, int part, uint8_t* digits) noexcept nogil:
    cdef int at = 0
    cdef int first = 1
    cdef int group
    cdef int left = whole
    while left > 0:
        group = left % GROUP or GROUP
        p = _read_group(p, mask, group, first, digits + at)
        first = 0
        at += group
        left -= group
    left = part
    while left > 0:
        group = GROUP if left > GROUP else left
        p = _read_group(p, mask, group, first, digits + at)
        first = 0
        at += group
        left -= group


cdef const uint8_t* _read_group(const uint8_t* p, uint8_t mask, int group, int first, uint8_t* digits) noexcept nogil:
    cdef uint32_t number = 0
    cdef int index
    cdef uint8_t byte
    for index in range(DIGIT_BYTES[group]):
        byte = p[index] ^ mask
        if first and index == 0:
            byte ^= 0x80
        number = number << 8 | byte
    for index in range(group):
        digits[group - 1 - index] = <uint8_t>(number % 10)
        number //= 10
    return p + DIGIT_BYTES[group]


cdef int64_t _write_digits(uint8_t* o, uint8_t mask, int whole, int part, uint8_t* digits) noexcept nogil:
    """Bytes written."""
    cdef uint8_t* start = o
    cdef int at = 0
    cdef int group
    cdef int left = whole
    while left > 0:
        group = left % GROUP or GROUP
        o = _write_group(o, mask, group, digits + at)
        at += group
        left -= group
    left = part
    while left > 0:
        group = GROUP if left > GROUP else left
        o = _write_group(o, mask, group, digits + at)
        at += group
        left -= group
    return o - start


cdef uint8_t* _write_group(uint8_t* o, uint8_t mask, int group, uint8_t* digits) noexcept nogil:
    cdef uint32_t number = 0
    cdef int index
    cdef int size = DIGIT_BYTES[group]
    for index in range(group):
        number = number * 10 + digits[index]
    for index in range(size):
        o[size - 1 - index] = <uint8_t>(number >> 8 * index) ^ mask
    return o + size
