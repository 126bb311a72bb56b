# Declarations of programs that fill in fields known only at the end of a transaction.

from libc.stdint cimport int64_t, uint64_t

from replicator.compiled.arena cimport DeferredPieces
from replicator.compiled.moments cimport Moment
from replicator.compiled.out cimport Out

cdef enum:
    MOST_STEPS = 16

cdef enum DeferredKind:  # what a step of `Deferred` prints
    LITERAL = 0
    DEFERRED_XID = 1
    DEFERRED_END_POS = 2
    DEFERRED_GTID = 3
    DEFERRED_FILE = 4
    DEFERRED_SERVER_ID = 5
    DEFERRED_THREAD = 6
    DEFERRED_OFFSET = 7
    DEFERRED_ORDER = 8

ctypedef struct DeferredStep:
    int kind
    const char* text  # literal, or what stands in front of a value that is not null
    size_t size
    bint optional

ctypedef struct DeferredSteps:
    DeferredStep steps[MOST_STEPS]
    int count


cdef class DeferredProgram:
    cdef DeferredSteps row
    cdef DeferredSteps last
    cdef list kept
    cdef readonly object text

    cdef _fill(self, DeferredSteps* steps, parts)


# Programs are known by their addresses while nobody holds the interpreter.
ctypedef int (*CompleteDeferred)(
    void*, DeferredPieces*, DeferredPieces*, Out*, Moment*, const char*, size_t, uint64_t, int64_t, int64_t, int64_t
) noexcept nogil

cdef CompleteDeferred complete_deferred
