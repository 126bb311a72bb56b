# Declarations of the state of the current transaction and of the functions that change it.

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from replicator.compiled.arena cimport Arena
from replicator.compiled.gtids cimport Done, Gtid
from replicator.compiled.moments cimport Moment
from replicator.compiled.out cimport Out
from replicator.compiled.tables cimport Tables

cdef enum Phase:  # those of decode.transactions.transaction_state.Phase
    BETWEEN = 0
    ANNOUNCED = 1
    OPEN = 2

cdef enum Taken:
    STOP = 0
    NEXT = 1


cdef class Transactions:
    cdef Arena arena
    cdef Tables tables
    cdef void* waits  # DeferredProgram of the current transaction
    cdef object held_deferred  # the same between runs
    cdef object other_deferred  # one that has no program
    cdef Out deferred_text
    cdef bint full
    cdef Moment moment
    cdef Out gtid_text
    cdef Out position_text
    cdef bytes file_text
    cdef Gtid current_gtid
    cdef object other_gtid
    cdef Done done
    cdef int64_t position_number
    cdef const uint8_t* buffer
    cdef uint32_t stamp  # timestamp of the event at hand; of one inside a compressed transaction, that of the outer one
    cdef bint checksum
    cdef bint queries
    cdef int64_t thread_id  # -1: not known
    cdef int64_t query_at, query_end  # where the last statement's text is in the buffer; -1: see `query`

    cdef readonly int kind
    cdef readonly int64_t boundary, boundary_at, boundary_s

    # The attributes of `TransactionState`; others of them are properties.
    cdef public int64_t offset, at, start
    cdef public int phase
    cdef public int64_t commit_us, length, row, messages, row_events
    cdef public bint standalone, skipped
    cdef public int64_t finished_records, finished_rows, finished_size, finished_transactions, finished_skipped
    cdef public int64_t pending_rows, pending_size, pending_messages
    cdef public int64_t source_ms, first_ms
    cdef public bint moved
    cdef public int64_t inflated
    cdef public int64_t most_pending
    cdef public int64_t ts_us, now_ns, event_s, pos, server_id
    cdef public object executed_json, tsid_json, query_json
    cdef public int64_t row_flags, table_rows
    cdef public bytes query
    cdef public int64_t query_start
    cdef public bint query_told

    cdef begin(self, Arena arena)
    cdef end(self, bytes buffer)
    cdef texts(self)
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
    cdef void _keep_query(self) noexcept with gil
    cdef void _forget_query(self) noexcept with gil
