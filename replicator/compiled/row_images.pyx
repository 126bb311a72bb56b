"""Rows of a prepared statement's answer, as they come from the socket -> row images of the binlog.

The twin, which owns every rule: `mysql/row_images/row_image.py`. Packets are taken apart where they are received; a row
of any length goes on when the next bytes have come, and long values are copied as they come, so that memory is that of
the images.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.ref cimport PyObject, Py_XDECREF
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy, memmove

from replicator.compiled.answers cimport (
    DATE, DATETIME, DECIMAL, FIXED, JSON, RAW, SIZED, TIME, TIMESTAMP, TRIMMED, YEAR, Step, head_of, size_of
)
from replicator.compiled.json_documents cimport Document, body_at, parse
from replicator.compiled.out cimport ASK_PYTHON, NO_MEMORY, OK
from replicator.compiled.pages cimport LARGE, trim_heap
from replicator.compiled.packed_values cimport (
    DECIMAL_MOST, Moment, date_at, datetime_at, decimal_at, little_endian, moment_of, time_at, timestamp_at
)

cdef extern from "Python.h":
    PyObject* bytes_of "PyBytes_FromStringAndSize"(const char*, Py_ssize_t) except NULL
    int _PyBytes_Resize(PyObject**, Py_ssize_t) except -1
    char* start_of "PyBytes_AS_STRING"(PyObject*)

ABI = 14

KINDS = {
    "fixed": FIXED, "year": YEAR, "date": DATE, "datetime": DATETIME, "timestamp": TIMESTAMP, "time": TIME,
    "decimal": DECIMAL, "raw": RAW, "sized": SIZED, "trimmed": TRIMMED, "json": JSON,
}

cdef enum State:
    BETWEEN = 0
    HEADER = 1  # the first byte of a packet says what it is
    ROW = 2
    COPYING = 3  # a long value
    LAST = 4  # behind the last value of a row
    ENDED = 5

cdef enum Status:
    MORE = 2  # bytes are wanted
    FULL = 3
    FAILED = 4  # the server has sent an error
    BROKEN = 5

cdef enum:
    PACKET_FULL = 0xFFFFFF
    INPUT = 262144
    LONGEST_VALUE = 1 << 30
    MOST_COLUMNS = 4096
    NULLS = 520  # bytes of their bitmap, and one

cdef class RowImages:
    """Of one answer.

    Args:
        steps: of its columns: (kind, bytes given, bytes wanted, digits or precision, scale, padding, place in the key).
        filler: bits of the last byte of a null bitmap that are set for no column.
        document: JSON text -> binary document, for what is rare.

    Use: `run`, and while it says MORE, read into `room()` and say `filled`. Raises ValueError for what is no such answer.
    """

    cdef Step* steps
    cdef int columns, bitmap, given_bitmap, keys
    cdef uint8_t filler
    cdef object document
    cdef bytearray buffer
    cdef uint8_t* base
    cdef size_t at, end, wanted
    cdef size_t left  # bytes of the packet at hand
    cdef bint more  # it goes on in another one
    cdef State state
    cdef int column
    cdef size_t copying
    cdef uint8_t nulls[NULLS]
    cdef PyObject* out
    cdef char* data
    cdef size_t used, capacity
    cdef int64_t* ends
    cdef size_t count, ends_room
    cdef uint8_t** key_values
    cdef size_t* key_sizes
    cdef Document json

    def __cinit__(self, list steps, int filler, object document):
        cdef int index
        self.columns = len(steps)
        if not 0 < self.columns <= MOST_COLUMNS:
            raise ValueError(f"{self.columns} columns")
        self.bitmap = (self.columns + 7) // 8
        self.given_bitmap = (self.columns + 9) // 8
        self.filler = filler
        self.document = document
        self.steps = <Step*>calloc(self.columns, sizeof(Step))
        self.buffer = bytearray(INPUT)
        self.base = <uint8_t*>self.buffer
        self.state = BETWEEN
        if self.steps == NULL:
            raise MemoryError
        for index, (kind, given, wanted, meta, scale, pad, key) in enumerate(steps):
            self.steps[index] = Step(kind, pad, given, wanted, meta, scale, key)
            self.keys = max(self.keys, key + 1)
        self.key_values = <uint8_t**>calloc(self.keys + 1, sizeof(uint8_t*))
        self.key_sizes = <size_t*>calloc(self.keys + 1, sizeof(size_t))
        if self.key_values == NULL or self.key_sizes == NULL:
            raise MemoryError

    def __dealloc__(self):
        cdef int index
        if self.key_values != NULL:
            for index in range(self.keys):
                free(self.key_values[index])
        free(self.key_values)
        free(self.key_sizes)
        free(self.steps)
        free(self.ends)
        free(self.json.tokens)
        Py_XDECREF(self.out)

    @property
    def ended(self):
        return self.state == ENDED

    def run(self, size_t most, size_t enough):
        """Takes rows apart until `most` of them or `enough` bytes of images are there, or the answer has ended.

        True: that is so, or a long row follows. False: more bytes are wanted. The payload of an ERR packet: one was sent.
        """
        cdef int status
        while True:
            with nogil:
                status = self._run(most, enough)
            if status == ASK_PYTHON:
                self._ask()
            elif status == MORE:
                return False
            elif status == FULL:
                return True
            elif status == FAILED:
                return PyBytes_FromStringAndSize(<char*>self.base + self.at, self.left)
            elif status == NO_MEMORY:
                raise MemoryError
            else:
                raise ValueError(f"column {self.column + 1} of row {self.count + 1}")

    def room(self):
        """Where the next bytes go: a memoryview, to be released before the next call."""
        cdef size_t have = self.end - self.at
        if self.at:
            memmove(self.base, self.base + self.at, have)
            self.at, self.end = 0, have
        if self.wanted > <size_t>len(self.buffer):
            self.buffer.extend(bytes(self.wanted + INPUT - len(self.buffer)))
        elif have < INPUT // 2 and len(self.buffer) > 4 * INPUT and self.wanted < INPUT:
            del self.buffer[INPUT:]
        self.base = <uint8_t*>self.buffer
        return memoryview(self.buffer)[self.end :]

    def filled(self, size_t size):
        if size > <size_t>len(self.buffer) - self.end:
            raise ValueError("more than there is room for")
        self.end += size

    def take(self):
        """(images, where each ends, as native int64) of the rows since the last call."""
        cdef object data, ends
        if self.out == NULL:
            data = b""
        else:
            _PyBytes_Resize(&self.out, self.used)
            data = <object>self.out
            Py_XDECREF(self.out)
            self.out = NULL
        ends = PyBytes_FromStringAndSize(<char*>self.ends, self.count * sizeof(int64_t))
        self.used = self.capacity = self.count = 0
        self.data = NULL
        return data, ends

    def key(self):
        """Of the last row: the values of its key as they came, without their lengths."""
        return [
            PyBytes_FromStringAndSize(<char*>self.key_values[index], self.key_sizes[index]) for index in range(self.keys)
        ]

    cdef int _ask(self) except -1:
        """The value at hand is a document that the twin writes; `wanted` are its bytes with their length."""
        cdef size_t head = head_of(self.base[self.at])
        cdef Step* step = self.steps + self.column
        cdef bytes made = self.document((<char*>self.base + self.at)[head : self.wanted])
        if self._room(step.wanted + len(made)) != OK:
            raise MemoryError
        little_endian(self.data + self.used, len(made), step.wanted)
        memcpy(self.data + self.used + step.wanted, <char*>made, len(made))
        self.used += step.wanted + len(made)
        self._consume(self.wanted)
        self.column += 1
        return 0

    cdef int _run(self, size_t most, size_t enough) noexcept nogil:
        cdef int status = OK
        while status == OK:
            if self.state == ROW:
                status = self._values()
            elif self.state == COPYING:
                status = self._copy()
            elif self.state == BETWEEN:
                status = self._packet()
            elif self.state == HEADER:
                status = self._begin(most, enough)
            elif self.state == LAST:
                status = self._end()
            else:
                return FULL
        return status

    cdef int _packet(self) noexcept nogil:
        cdef uint8_t* p = self.base + self.at
        if self.end - self.at < 5:
            self.wanted = 5
            return MORE
        self.left = p[0] | p[1] << 8 | p[2] << 16
        self.more = self.left == PACKET_FULL
        if not self.left:
            return BROKEN
        self.at += 4
        self.state = HEADER
        return OK

    cdef int _begin(self, size_t most, size_t enough) noexcept nogil:
        cdef uint8_t first = self.base[self.at]
        cdef uint8_t* nulls = self.nulls
        cdef int status, index
        if first == 0xFF or (first == 0xFE and self.left < 9):
            status = self._need(self.left)
            if status == OK and first == 0xFE:
                self._consume(self.left)
                self.state = ENDED
            return FAILED if status == OK and first == 0xFF else status
        if first != 0:
            return BROKEN
        if self.count >= most or self.used >= enough or (self.count and self.left > LARGE):
            return FULL  # a long row comes alone
        status = self._need(1 + self.given_bitmap)
        if status != OK:
            return status
        memcpy(nulls, self.base + self.at + 1, self.given_bitmap)
        nulls[self.given_bitmap] = 0
        self._consume(1 + self.given_bitmap)
        if self._room(self.bitmap) != OK:
            return NO_MEMORY
        for index in range(self.bitmap):
            self.data[self.used + index] = <char>(nulls[index] >> 2 | nulls[index + 1] << 6)
        self.used += self.bitmap
        self.data[self.used - 1] = self.data[self.used - 1] | <char>self.filler
        self.column = 0
        self.state = ROW
        return OK

    cdef int _end(self) noexcept nogil:
        """Behind a payload that fills its packets there is an empty one."""
        cdef uint8_t* p = self.base + self.at
        cdef int64_t* moved
        if self.left:
            return BROKEN
        if self.more:
            if self.end - self.at < 4:
                self.wanted = 4
                return MORE
            self.at += 4
            if p[0] | p[1] | p[2]:
                return BROKEN
        if self.count == self.ends_room:
            moved = <int64_t*>realloc(self.ends, (2 * self.ends_room + 1024) * sizeof(int64_t))
            if moved == NULL:
                return NO_MEMORY
            self.ends = moved
            self.ends_room = 2 * self.ends_room + 1024
        self.ends[self.count] = self.used
        self.count += 1
        self.state = BETWEEN
        return OK

    cdef int _values(self) noexcept nogil:
        cdef int bit, status
        while self.column < self.columns:
            bit = self.column + 2
            if not self.nulls[bit >> 3] >> (bit & 7) & 1:
                status = self._value(self.steps + self.column)
                if status != OK or self.state == COPYING:
                    return status
            self.column += 1
        self.state = LAST
        return OK

    cdef int _value(self, Step* step) noexcept nogil:
        cdef int status
        cdef size_t head, size
        cdef uint64_t value
        if step.kind == FIXED or step.kind == YEAR:
            status = self._need(step.given)
            if status != OK:
                return status
            if self._room(8) != OK:
                return NO_MEMORY
            if step.key >= 0 and self._keep(step.key, self.base + self.at, step.given) != OK:
                return NO_MEMORY
            value = 0
            memcpy(&value, self.base + self.at, step.given)
            if step.kind == YEAR:
                value = value - 1900 if value > 1900 else 0
            memcpy(self.data + self.used, &value, 8)
            self.used += step.wanted
            self._consume(step.given)
            return OK
        status = self._need(1)
        if status != OK:
            return status
        head = head_of(self.base[self.at])
        if head == 0:
            return BROKEN
        status = self._need(head)
        if status != OK:
            return status
        size = size_of(self.base + self.at, head)
        if size > LONGEST_VALUE:
            return BROKEN
        if step.kind == SIZED and step.key < 0:
            return self._begin_copy(step, head, size)
        status = self._need(head + size)
        if status != OK:
            return status
        if step.key >= 0 and self._keep(step.key, self.base + self.at + head, size) != OK:
            return NO_MEMORY
        status = self._converted(step, self.base + self.at + head, size)
        if status == OK:
            self._consume(head + size)
        elif status == ASK_PYTHON:
            self.wanted = head + size
        return status

    cdef int _converted(self, Step* step, const uint8_t* p, size_t size) noexcept nogil:
        cdef Moment moment
        cdef char* o
        cdef int status
        if step.kind == JSON:
            return self._json(step, p, size)
        if self._room(size + DECIMAL_MOST + 8) != OK:
            return NO_MEMORY
        o = self.data + self.used
        if step.kind == DECIMAL:
            status = decimal_at(o, p, size, step.meta, step.scale)
            if status < 0:
                return BROKEN
            self.used += status
            return OK
        if step.kind == TRIMMED or step.kind == SIZED or step.kind == RAW:
            if step.kind == TRIMMED:
                while size and p[size - 1] == step.pad:
                    size -= 1
            if step.wanted < 8 and size >> 8 * step.wanted and step.kind != RAW:
                return BROKEN
            if step.kind != RAW:
                o = little_endian(o, size, step.wanted)
            memcpy(o, p, size)
            self.used = o + size - self.data
            return OK
        if step.kind == TIME:
            o = time_at(o, p, size, step.meta)
        elif not moment_of(p, size, &moment):
            return BROKEN
        elif step.kind == DATE:
            o = date_at(o, &moment)
        elif step.kind == DATETIME:
            o = datetime_at(o, &moment, step.meta)
        else:
            o = timestamp_at(o, &moment, step.meta)
        if o == NULL:
            return BROKEN
        self.used = o - self.data
        return OK

    cdef int _json(self, Step* step, const uint8_t* p, size_t size) noexcept nogil:
        cdef int status
        cdef size_t made
        cdef char* o
        self.json.text, self.json.at, self.json.end = p, 0, size
        status = parse(&self.json)
        if status != OK:
            return status
        made = 1 + self.json.tokens[0].size
        if self._room(step.wanted + made) != OK:
            return NO_MEMORY
        o = little_endian(self.data + self.used, made, step.wanted)
        o[0] = <char>self.json.tokens[0].kind
        self.used = body_at(o + 1, &self.json, 0) - self.data
        return OK

    cdef int _begin_copy(self, Step* step, size_t head, size_t size) noexcept nogil:
        if step.wanted < 8 and size >> 8 * step.wanted:
            return BROKEN
        if size > LARGE:
            trim_heap()  # what the rows before it have left there
        if self._room(step.wanted + size) != OK:
            return NO_MEMORY
        self._consume(head)
        little_endian(self.data + self.used, size, step.wanted)
        self.used += step.wanted
        if size <= self.left and size <= self.end - self.at:
            memcpy(self.data + self.used, self.base + self.at, size)
            self.used += size
            self._consume(size)
            return OK
        self.copying = size
        self.state = COPYING
        return OK

    cdef int _copy(self) noexcept nogil:
        cdef size_t part
        cdef uint8_t* p
        while self.copying:
            if not self.left:
                if not self.more:
                    return BROKEN
                if self.end - self.at < 4:
                    self.wanted = 4
                    return MORE
                p = self.base + self.at
                self.left = p[0] | p[1] << 8 | p[2] << 16
                self.more = self.left == PACKET_FULL
                self.at += 4
            part = min(self.copying, min(self.left, self.end - self.at))
            if not part:
                self.wanted = 1
                return MORE
            memcpy(self.data + self.used, self.base + self.at, part)
            self.used += part
            self.copying -= part
            self._consume(part)
        self.column += 1
        self.state = ROW
        return OK

    cdef int _need(self, size_t size) noexcept nogil:
        """So many bytes of the payload, one behind the other: headers of packets between them are taken out."""
        cdef uint8_t* p
        cdef size_t part
        while self.left < size:
            if not self.more:
                return BROKEN
            if self.end - self.at < self.left + 4:
                self.wanted = self.left + 4
                return MORE
            p = self.base + self.at + self.left
            part = p[0] | p[1] << 8 | p[2] << 16
            memmove(self.base + self.at + 4, self.base + self.at, self.left)
            self.at += 4
            self.left += part
            self.more = part == PACKET_FULL
        if self.end - self.at < size:
            self.wanted = size
            return MORE
        return OK

    cdef void _consume(self, size_t size) noexcept nogil:
        self.at += size
        self.left -= size

    cdef int _keep(self, int place, const uint8_t* p, size_t size) noexcept nogil:
        cdef uint8_t* moved
        if size > self.key_sizes[place] or self.key_values[place] == NULL:
            moved = <uint8_t*>realloc(self.key_values[place], size + 64)
            if moved == NULL:
                return NO_MEMORY
            self.key_values[place] = moved
        memcpy(self.key_values[place], p, size)
        self.key_sizes[place] = size
        return OK

    cdef int _room(self, size_t more) noexcept nogil:
        if self.used + more + 8 <= self.capacity:
            return OK
        with gil:
            return self._grow(self.used + more + 8)

    cdef int _grow(self, size_t wanted) except -1:
        cdef size_t capacity = max(wanted, min(2 * self.capacity, self.capacity + (4 << 20)))
        if self.out == NULL:
            self.out = bytes_of(NULL, max(capacity, 65536))
            self.capacity = max(capacity, 65536)
        else:
            _PyBytes_Resize(&self.out, capacity)
            self.capacity = capacity
        self.data = start_of(self.out)
        return OK
