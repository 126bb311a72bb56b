from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from replicator.compiled.arena cimport Arena
from replicator.compiled.gtids cimport Done, Gtid
from replicator.compiled.moments cimport Moment
from replicator.compiled.out cimport Out
from replicator.compiled.tables cimport Tables

cdef enum State:  # those of decode.progress.State
    BETWEEN = 0
    ANNOUNCED = 1
    OPEN = 2

cdef enum Taken:
    STOP = 0
    NEXT = 1


cdef class Transactions:
    cdef Arena arena
    cdef Tables tables
    cdef void* waits  # LateProgram of the transaction at hand
    cdef Out late_text
    cdef bint full
    cdef Moment moment
    cdef Out json_gtid
    cdef Out position
    cdef bytes file
    cdef Gtid gtid
    cdef Done done
    cdef int64_t position_number
    cdef const uint8_t* buffer

    cdef public bint checksum, mariadb
    cdef public int state, kind
    cdef public int64_t offset, at, start
    cdef public int64_t row, row_event, commit_us, length, whole
    cdef public int64_t rows, size, transactions, new_rows, new_size, source_ms
    cdef public bint moved
    cdef public int64_t ts_us, thread, pos, now_ns, event_s, server_id
    cdef public bint standalone
    cdef public int64_t most_held
    cdef public int64_t boundary, boundary_at, boundary_s, query_at, query_end, query_of
    cdef public bint queries, asked
    cdef public bytes query
    cdef public int64_t told, new_told

    cdef Taken _mysql_gtid(self, const uint8_t* p, const uint8_t* end, bint named) noexcept nogil
    cdef Taken _mariadb_gtid(self, const uint8_t* p, const uint8_t* end, uint32_t server) noexcept nogil
    cdef Taken _put_gtid(self) noexcept nogil
    cdef void _announce(self) noexcept nogil
    cdef void _without_gtid(self) noexcept nogil
    cdef Taken _query(self, const uint8_t* p, const uint8_t* end, uint32_t timestamp, int64_t behind) noexcept nogil
    cdef Taken _complete(self, uint64_t xid, uint32_t server, int64_t behind) noexcept nogil
    cdef Taken _finish(self, uint32_t timestamp, int64_t behind) noexcept nogil
    cdef Taken _rows_query(self, const uint8_t* text, const uint8_t* end) noexcept nogil
    cdef void _statement_ended(self) noexcept nogil
    cdef void _forget_query(self) noexcept with gil
