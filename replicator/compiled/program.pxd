from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from replicator.compiled.arena cimport Arena, Entry
from replicator.compiled.out cimport Out
from replicator.compiled.values cimport Value

cdef enum:
    MOST_HEADERS = 8

ctypedef struct Field:
    # A column as the rows carry it.
    int64_t size  # -1: behind a length of `prefix` bytes
    int prefix
    bint nullable

ctypedef struct Cut:
    # A value of the row at hand; `at` is NULL for SQL NULL.
    const uint8_t* at
    size_t size

ctypedef struct Step:
    int kind
    const char* text  # literal, text for NULL, name of a member
    size_t size
    const char* null
    size_t null_size
    int cut  # of the value
    int value  # its writer
    int first  # steps inside: of an object, of what is repeated
    int last
    int before  # of an object's member: the cuts to compare, -1: none
    int after
    bint not_null
    void* python

ctypedef struct Range:
    # Steps of a template; first -1: none.
    int first
    int last

ctypedef struct Form:
    # A record that a row becomes.
    Range key
    Range value
    Range route
    int header_count
    Range headers[MOST_HEADERS]
    const char* names[MOST_HEADERS]  # packed as in the record
    size_t name_sizes[MOST_HEADERS]

ctypedef struct Moment:
    # The event at hand: what texts print that are the same for all of its rows.
    int64_t ts_us
    int64_t now_ns
    int64_t event_s
    int64_t pos
    int64_t server_id
    int64_t thread  # -1: not known
    const char* gtid  # JSON
    size_t gtid_size
    const char* file
    size_t file_size


cdef class Program:
    cdef object twin
    cdef object others
    cdef object prepare
    cdef object context
    cdef list kept
    cdef const uint8_t* header_at
    cdef const uint8_t* mask_at
    cdef Py_ssize_t header_size
    cdef bint busy
    cdef bint grouped
    cdef bint alone  # its event texts can be made here
    cdef str topic

    cdef int images
    cdef int counts[2]
    cdef Field* fields[2]
    cdef Cut* cuts
    cdef Value* values
    cdef int value_count
    cdef Step* steps
    cdef int step_count
    cdef Form* forms
    cdef int form_count
    cdef Form* moved
    cdef int moved_count
    cdef int* compared
    cdef int compared_count
    cdef bint always_moved

    cdef Step* pieces  # of texts that are the same for all rows of an event
    cdef int piece_count
    cdef int* same_pieces  # the first piece of each text, and behind the last
    cdef int same_count
    cdef Out same
    cdef size_t* same_ends
    cdef Out scratch
    cdef Out repeated[4]

    cdef int64_t first_row
    cdef int64_t table_rows
    cdef int64_t told
    cdef int64_t written

    cdef bint matches(self, const uint8_t* p, const uint8_t* end) noexcept nogil
    cdef int prepare_natively(self, Moment* moment) noexcept nogil
    cdef int64_t run(
        self, Arena arena, const uint8_t* p, const uint8_t* end, int64_t row, uint32_t topic, uint32_t position
    ) noexcept nogil
    cdef int _walk(self, int image, const uint8_t** at, const uint8_t* end) noexcept nogil
    cdef bint _has_moved(self) noexcept nogil
    cdef int _emit(
        self, Arena arena, Form* forms, int count, int64_t row, uint32_t topic, uint32_t position
    ) noexcept nogil
    cdef int _write(self, Out* out, Range steps, int64_t row) noexcept nogil
    cdef int _object(self, Out* out, Step* step, int64_t row) noexcept nogil
    cdef int _header(self, Out* out, Form* form, int number, int64_t row) noexcept nogil
    cdef int _asked(self, Out* out, Step* step, int64_t row) noexcept with gil
    cdef int _value(self, Out* out, Step* step) noexcept nogil
    cdef int _add_repeated(self, int64_t row) noexcept nogil
    cdef _take_texts(self, context)
    cdef _value_step(self, Step* step, fields)
    cdef Form* _forms(self, records) except? NULL
    cdef const char* _keep(self, bytes text) except NULL
