"""Row images of a table as the rows of an INSERT or LOAD DATA statement.

The twin, which owns every rule: `sink/mysql/sql/row_texts.py`.
"""

from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport calloc, free
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE

from replicator.compiled.out cimport ASK_PYTHON, NO_MEMORY, OK, Out, little, put
from replicator.compiled.statement_values cimport PYTHON, put_value

ABI = 14

cdef enum:
    MOST_COLUMNS = 4096


ctypedef struct Step:
    int kind
    int column
    int first
    int second
    bint member  # of an ENUM, whose 0 is none
    const char* before
    size_t before_size
    const char* behind
    size_t behind_size


cdef class RowTexts:
    """Of one table version and one kind of statement."""

    cdef int columns, count
    cdef int64_t* sizes
    cdef Step* steps
    cdef const uint8_t** values  # of the image at hand; NULL: NULL
    cdef size_t* lengths
    cdef object kept  # what the steps point to
    cdef list fields
    cdef bytes begins, between, ends, joins, null

    def __cinit__(self, sizes, steps, fields, members, form):
        cdef int index
        self.columns, self.count = len(sizes), len(steps)
        if not 0 <= self.columns <= MOST_COLUMNS or not 0 < self.count <= MOST_COLUMNS or len(fields) != self.count:
            raise ValueError("no such table")
        self.sizes = <int64_t*>calloc(self.columns + 1, sizeof(int64_t))
        self.steps = <Step*>calloc(self.count + 1, sizeof(Step))
        self.values = <const uint8_t**>calloc(self.columns + 1, sizeof(uint8_t*))
        self.lengths = <size_t*>calloc(self.columns + 1, sizeof(size_t))
        if self.sizes == NULL or self.steps == NULL or self.values == NULL or self.lengths == NULL:
            raise MemoryError
        for index, size in enumerate(sizes):
            self.sizes[index] = size
        self.kept, self.fields = list(steps), list(fields)
        for index, (kind, column, first, second, before, behind) in enumerate(steps):
            if not 0 <= column < self.columns:
                raise ValueError("no such column")
            self.steps[index] = Step(
                kind, column, first, second, column in members,
                PyBytes_AS_STRING(before), PyBytes_GET_SIZE(before), PyBytes_AS_STRING(behind), PyBytes_GET_SIZE(behind),
            )
        self.begins, self.between, self.ends, self.joins, self.null = form

    def __dealloc__(self):
        free(self.sizes)
        free(self.steps)
        free(self.values)
        free(self.lengths)

    def piece(self, bytes images, Py_ssize_t at, int most_rows, size_t most):
        """(text, end, rows, lenient): see the twin."""
        cdef const uint8_t* base = <const uint8_t*>PyBytes_AS_STRING(images)
        cdef const uint8_t* end = base + PyBytes_GET_SIZE(images)
        cdef const uint8_t* p = base + at
        cdef const uint8_t* following
        cdef size_t begin
        cdef int rows = 0
        cdef bint lenient = False
        cdef bint its
        cdef Out out
        out.base, out.used, out.room = NULL, 0, 0
        try:
            while p < end and rows != most_rows:
                following = self._walk(p, end)
                if following == NULL:
                    raise ValueError("an image beyond the end of its run")
                its = self._lenient()
                if rows and its != lenient:
                    break
                begin = out.used
                self._write(&out, rows != 0)
                if rows and out.used > most:
                    out.used = begin
                    break
                lenient = its
                rows += 1
                p = following
            return PyBytes_FromStringAndSize(out.base, out.used), p - base, rows, lenient
        finally:
            free(out.base)

    def halves(self, bytes images):
        """(images before, images after) of updates."""
        cdef const uint8_t* p = <const uint8_t*>PyBytes_AS_STRING(images)
        cdef const uint8_t* end = p + PyBytes_GET_SIZE(images)
        cdef const uint8_t* following
        cdef Out out[2]
        cdef int index = 0
        for index in range(2):
            out[index].base, out[index].used, out[index].room = NULL, 0, 0
        index = 0
        try:
            while p < end:
                following = self._walk(p, end)
                if following == NULL:
                    raise ValueError("an image beyond the end of its run")
                if put(&out[index], p, following - p) != OK:
                    raise MemoryError
                p = following
                index = 1 - index
            if index:
                raise ValueError("an update without its image after")
            return (
                PyBytes_FromStringAndSize(out[0].base, out[0].used), PyBytes_FromStringAndSize(out[1].base, out[1].used)
            )
        finally:
            free(out[0].base)
            free(out[1].base)

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
                p += -size
                size = <int64_t>little(p + size, <int>-size)
            if end - p < size:
                return NULL
            self.values[column] = p
            self.lengths[column] = size
            p += size
        return p

    cdef bint _lenient(self) noexcept nogil:
        cdef int index
        cdef Step* step
        for index in range(self.count):
            step = self.steps + index
            if step.member and self.values[step.column] != NULL:
                if little(self.values[step.column], <int>self.lengths[step.column]) == 0:
                    return True
        return False

    cdef int _write(self, Out* out, bint joined) except -1:
        """The row at hand. Raises what a field of the twin raises."""
        cdef int index, status
        cdef Step* step
        cdef bytes text
        cdef size_t begin
        if joined:
            _put(out, self.joins)
        _put(out, self.begins)
        for index in range(self.count):
            step = self.steps + index
            if index:
                _put(out, self.between)
            if self.values[step.column] == NULL:
                _put(out, self.null)
                continue
            begin = out.used
            status = ASK_PYTHON
            if step.kind != PYTHON:
                status = _field(out, step, self.values[step.column], self.lengths[step.column])
            if status == NO_MEMORY:
                raise MemoryError
            if status == OK:
                continue
            out.used = begin
            text = self.fields[index](
                PyBytes_FromStringAndSize(<const char*>self.values[step.column], self.lengths[step.column])
            )
            _put(out, text)
        _put(out, self.ends)
        return 0


cdef int _put(Out* out, bytes text) except -1:
    if put(out, PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text)) != OK:
        raise MemoryError
    return 0


cdef int _field(Out* out, const Step* step, const uint8_t* p, size_t size) noexcept nogil:
    cdef int status
    if step.before_size and put(out, step.before, step.before_size) != OK:
        return NO_MEMORY
    status = put_value(out, step.kind, step.first, step.second, p, size)
    if status == OK and step.behind_size:
        return put(out, step.behind, step.behind_size)
    return status
