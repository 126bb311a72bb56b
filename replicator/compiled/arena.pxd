# Declarations of the record store: records one after the other in one block of memory, with a table of offsets.

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from replicator.compiled.out cimport Out

ctypedef struct Entry:
    # One record. Its key, value, route and headers stand one behind the other in the arena's bytes.
    size_t at
    int64_t key  # bytes; -1: null
    int64_t value
    int64_t route  # -1: none
    size_t headers  # bytes: name, value, name, ... as in a Kafka record, without their number
    int64_t row
    uint32_t header_count
    uint32_t topic
    uint32_t position


cdef enum:
    MOST_PIECES = 8

ctypedef struct DeferredPieces:
    # What is known at the end of a transaction: pieces, between which the number of the row stands, plus `add`.
    const char* pieces[MOST_PIECES]
    size_t sizes[MOST_PIECES]
    int add[MOST_PIECES]
    int count


cdef class Arena:
    cdef Out bytes
    cdef Entry* entries
    cdef size_t count
    cdef size_t room
    cdef list topics
    cdef Out positions
    cdef size_t* position_ends
    cdef size_t position_count
    cdef size_t position_room
    cdef dict _topic_ids

    cdef uint32_t topic_id(self, str name) except? 0xFFFFFFFF
    cdef int64_t position_id(self, const char* text, size_t size) noexcept nogil
    cdef Entry* entry(self) noexcept nogil
    cdef tuple tuple_of(self, size_t index)
    cdef int64_t _take(self, bytes text) except -2
    cdef bytes position(self, uint32_t index)
    cdef int complete_by(self, size_t first, DeferredPieces* row, DeferredPieces* last) noexcept nogil
    cdef size_t size_from(self, size_t first) noexcept nogil
    cdef size_t _growth(self, Entry* entry, DeferredPieces* row, DeferredPieces* last, int64_t* last_row) noexcept nogil
    cdef size_t _spread(
        self, Entry* entry, DeferredPieces* row, DeferredPieces* last, int64_t last_row, size_t place
    ) noexcept nogil
    cdef size_t _spread_part(
        self, size_t start, int64_t* length, DeferredPieces* text, int64_t row, size_t size, size_t place
    ) noexcept nogil
