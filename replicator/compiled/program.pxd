# Declarations of `Program`, which runs a plan over the rows of one table version and one operation.

from libc.stdint cimport int64_t, uint8_t, uint32_t

from replicator.compiled.arena cimport Arena
from replicator.compiled.moments cimport Moment
from replicator.compiled.out cimport Out
from replicator.compiled.steps cimport Cut, Form, Range, Step, Steps
from replicator.compiled.values cimport Value


cdef class Program(Steps):
    cdef object twin
    cdef object others
    cdef object prepare
    cdef object context
    cdef bint busy

    cdef int64_t first_row
    cdef int64_t table_rows
    cdef int64_t messages
    cdef int64_t written
    cdef int64_t rows
    cdef bint alone_in_event  # the row at hand is the only one
    cdef int spends  # whether long values are given up while they are written
    cdef int long_values

    cdef bint matches(self, const uint8_t* p, const uint8_t* end) noexcept nogil
    cdef int prepare_natively(self, Moment* moment) noexcept nogil
    cdef int64_t run(
        self, Arena arena, const uint8_t* p, const uint8_t* end, int64_t row, uint32_t topic, uint32_t position
    ) noexcept nogil
    cdef int _walk(self, int image, const uint8_t** at, const uint8_t* end) noexcept nogil
    cdef int _emit(
        self, Arena arena, Form* forms, int count, int64_t row, uint32_t topic, uint32_t position
    ) noexcept nogil
    cdef int _write(self, Out* out, Range steps, int64_t row) noexcept nogil
    cdef int _object(self, Out* out, Step* step, int64_t row) noexcept nogil
    cdef int _header(self, Out* out, Form* form, int number, int64_t row) noexcept nogil
    cdef int _number(self, Out* out, Step* step, int64_t row) noexcept nogil
    cdef int _message(self, Out* out, Step* step, int64_t row) noexcept nogil
    cdef int _asked(self, Out* out, Step* step, int64_t row) noexcept with gil
    cdef int _value(self, Out* out, Step* step) noexcept nogil
    cdef int _long_value(self, Out* out, Value* value, Cut* cut) noexcept nogil
    cdef bint _may_spend(
        self, Arena arena, const uint8_t* p, const uint8_t* end, int64_t row, uint32_t topic, uint32_t position
    ) noexcept nogil
    cdef int _add_repeated(self, int64_t row) noexcept nogil
    cdef _take_texts(self, context)
    cdef object _decoded(self, const uint8_t* p, const uint8_t* end, object row, Arena arena, object context, bint spend=*)
