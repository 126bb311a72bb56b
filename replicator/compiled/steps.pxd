# Declarations of plans as arrays of steps, columns and writers.

from libc.stdint cimport int64_t, uint8_t

from replicator.compiled.avro cimport Leaf
from replicator.compiled.filters cimport Condition, Reading, Register
from replicator.compiled.out cimport Out
from replicator.compiled.protobuf cimport Cell, Piece
from replicator.compiled.values cimport Value

cdef enum:
    MOST_HEADERS = 8
    MOST_REPEATED = 4

cdef enum Kind:
    TEXT = 0
    SAME = 1  # `first`: which text of the event
    VALUE = 2
    ROW = 3  # index in its event
    OFFSET = 4  # in its transaction
    ORDER = 5
    TABLE_ORDER = 6
    OBJECT = 7
    REPEATED = 8  # `value`: which of the texts that rows add to
    MEMBER = 9
    ASKED = 10  # of Python, by the number of the row
    HEAD = 11  # of an Avro record: known once its schema is registered
    MESSAGE = 12  # of protobuf: steps inside, behind a tag and their length
    COUNT = 13  # of the event's rows
    CELL = 14  # `after`: which column of protobuf
    IMAGE = 15  # `value`: which image is copied; `not_null`: behind its length, in COLUMNS too
    COLUMNS = 16  # an image of the columns in the steps inside
    COLUMN = 17  # of an image; `first`: bytes of the length in front of its value, in COLUMN_TEXT too
    COLUMN_TEXT = 18  # of an image: a text instead of its value
    NO_COLUMN = 19  # of an image: NULL

cdef enum:
    NEVER_CHANGED = -2  # instead of the place of the value that a cell is compared with
    ALWAYS_CHANGED = -1

cdef enum Verdict:  # of a filter
    BEFORE = 1
    AFTER = 2

cdef enum Variable:  # of texts that are the same for all rows of an event
    TS_MS = 0
    TS_US = 1
    TS_NS = 2
    NOW_MS = 3
    NOW_US = 4
    NOW_NS = 5
    EVENT_S = 6
    EVENT_MS = 7
    GTID = 8
    FILE = 9
    POS = 10
    SERVER_ID = 11
    THREAD = 12
    LITERAL = 13
    POSITION = 14
    UNCHECKED = 15

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
    Leaf leaf  # of variables

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
    int piece_count  # of what the headers are made of: a text as it stands in the record, and the value behind it
    Range headers[MOST_HEADERS + 1]
    const char* texts[MOST_HEADERS + 1]
    size_t text_sizes[MOST_HEADERS + 1]


cdef class Steps:
    cdef list kept
    cdef const uint8_t* header_at
    cdef const uint8_t* mask_at
    cdef Py_ssize_t header_size
    cdef bint grouped
    cdef bint alone  # its event texts can be made without Python
    cdef str topic

    cdef int images
    cdef int counts[2]
    cdef Field* fields[2]
    cdef Cut* cuts
    cdef Cut whole[2]  # the images
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

    cdef bint filtered
    cdef bint native_filter
    cdef bint moving  # rows can move in and out
    cdef object filter_in_python
    cdef Reading* readings
    cdef Register* registers
    cdef int reading_count
    cdef Condition* tests[2]  # of the image before, where rows can move, and of the row
    cdef Form* entering
    cdef int entering_count
    cdef Form* leaving
    cdef int leaving_count

    cdef Step* pieces  # of texts that are the same for all rows of an event
    cdef int* same_pieces  # the first piece of each text, and behind the last
    cdef int same_count
    cdef Out same
    cdef size_t* same_ends
    cdef Out scratch
    cdef Out json  # of a value that becomes binary
    cdef Out other  # of the value that it is compared with
    cdef Cell* cells
    cdef Out repeated[MOST_REPEATED]

    cdef int _verdict(self) noexcept nogil
    cdef int _verdict_of_python(self) noexcept with gil
    cdef bint _has_moved(self) noexcept nogil
    cdef void _drop_large(self) noexcept nogil
    cdef Piece _piece(self, bytes text)
    cdef _value_step(self, Step* step, fields)
    cdef Condition* _tests(self, nodes) except NULL
    cdef _test(self, Condition* test, fields)
    cdef void* _constants(self, texts) except NULL
    cdef Form* _forms(self, records, steps) except? NULL
    cdef int _find_head(self, Step* step) noexcept with gil
    cdef const char* _keep(self, bytes text) except NULL
