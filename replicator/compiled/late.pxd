from libc.stdint cimport int64_t, uint64_t

from replicator.compiled.arena cimport LateText
from replicator.compiled.moments cimport Moment
from replicator.compiled.out cimport Out

cdef enum:
    MOST_STEPS = 16

cdef enum LateKind:  # what a step of `Deferred` prints
    LITERAL = 0
    LATE_XID = 1
    LATE_END_POS = 2
    LATE_GTID = 3
    LATE_FILE = 4
    LATE_SERVER_ID = 5
    LATE_THREAD = 6
    LATE_OFFSET = 7
    LATE_ORDER = 8

ctypedef struct LateStep:
    int kind
    const char* text  # literal, or what stands in front of a value that is not null
    size_t size
    bint optional

ctypedef struct LateSteps:
    LateStep steps[MOST_STEPS]
    int count


cdef class LateProgram:
    cdef LateSteps row
    cdef LateSteps last
    cdef list kept
    cdef readonly object late

    cdef _fill(self, LateSteps* steps, parts)


# Programs are known by their addresses while nobody holds the interpreter.
ctypedef int (*CompleteLate)(
    void*, LateText*, LateText*, Out*, Moment*, const char*, size_t, uint64_t, int64_t, int64_t, int64_t
) noexcept nogil

cdef CompleteLate complete_late
