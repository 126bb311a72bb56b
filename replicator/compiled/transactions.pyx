"""Transactions as `Loop` meets them: how they are announced and begin, what is known of the one at hand, how they end."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memcpy, memset
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE

from replicator.compiled.arena cimport Arena, LateText
from replicator.compiled.gtids cimport Gtid, add_executed, put_gtid
from replicator.compiled.late cimport LateProgram, complete_late
from replicator.compiled.out cimport OK, little, put, put_unsigned
from replicator.compiled.tables cimport Tables

ABI = 5

cdef uint64_t LATEST_US = <uint64_t>1 << 52  # the year 2112: times in nanoseconds have to fit, too
cdef uint64_t HAS_ORIGINAL = <uint64_t>1 << 55


cdef inline int64_t _length(const uint8_t* p, const uint8_t* end) noexcept nogil:
    """An integer of the client/server protocol, one to nine bytes; 0 where there is none."""
    cdef int size
    if p >= end:
        return 0
    if p[0] < 251:
        return p[0]
    size = 2 if p[0] == 252 else 3 if p[0] == 253 else 8
    return <int64_t>little(p + 1, size) if p[0] != 251 and p[0] != 255 and end - p > size else 0


cdef class Transactions:
    """The attributes are the decoder's state; whoever calls `run` sets them before and takes them back after it.

    Args:
        late_of: see `Tables`.

    Attributes:
        kind: of the last event that was taken.
        whole: records of finished transactions.
        boundary: end of the last transaction that was finished; -1: none was.
        row_event: row events of the transaction at hand, also of tables that are not replicated.
        boundary_at, boundary_s: first byte and time of the event that finished it.
        most_held: bytes that records which wait may have; the run ends when they have more.
        queries: the format is told of the statements behind rows.
        query: text of the statement at hand, from before the run; None: there is none, or it is the buffer's, or gone.
        query_at, query_end: where the text of the run's last statement stands in the buffer; -1: there was none, or (only
            with `queries`) its rows are over.
        asked: the format was told of the statement at hand.
    """

    def __cinit__(self, bint packets, late_of, *_):
        self.tables = Tables(late_of)

    def __dealloc__(self):
        free(self.json_gtid.base)
        free(self.position.base)
        free(self.done.base)
        free(self.late_text.base)

    def begin(self, Arena arena, dict ids, bytes file, bytes gtid, bytes position, late):
        """Before each run. `ids`: table id -> version; `file`, `gtid`: JSON text; `late`: what the transaction at hand
        waits for."""
        self.arena = arena
        self.waits, self.full = NULL, False
        self.file = file
        self.tables.begin(arena, ids)
        self.done.count = 0
        self.boundary = self.query_at = -1
        self.position_number = -1
        self.json_gtid.used = self.position.used = 0
        if (
            put(&self.json_gtid, PyBytes_AS_STRING(gtid), PyBytes_GET_SIZE(gtid)) != OK
            or put(&self.position, PyBytes_AS_STRING(position), PyBytes_GET_SIZE(position)) != OK
        ):
            raise MemoryError
        self.moment.file, self.moment.file_size = PyBytes_AS_STRING(file), PyBytes_GET_SIZE(file)
        if late is not None:
            program = self.tables.late_program(late)
            if program is None:
                raise ValueError("this can't be printed here")
            self.waits = <void*>program

    def set_gtid(self, int kind, bytes uuid, uint32_t domain, uint32_t server, uint64_t number):
        """Of the transaction at hand: 0 none, 1 MySQL's, 2 MariaDB's."""
        self.gtid.kind, self.gtid.domain, self.gtid.server, self.gtid.number = kind, domain, server, number
        memset(self.gtid.uuid, 0, 16)
        if len(uuid) == 16:
            memcpy(self.gtid.uuid, PyBytes_AS_STRING(uuid), 16)

    def get_gtid(self):
        """As `set_gtid` takes it."""
        cdef Gtid* gtid = &self.gtid
        return gtid.kind, PyBytes_FromStringAndSize(<char*>gtid.uuid, 16), gtid.domain, gtid.server, gtid.number

    def texts(self):
        """(JSON text of the GTID, position) of the transaction at hand."""
        return (
            PyBytes_FromStringAndSize(self.json_gtid.base, self.json_gtid.used),
            PyBytes_FromStringAndSize(self.position.base, self.position.used),
        )

    @property
    def late(self):
        """What the transaction at hand waits for."""
        return None if self.waits == NULL else (<LateProgram>self.waits).late

    def executed(self):
        """GTIDs of the transactions that were finished: (uuid, domain, server, first, last)."""
        cdef size_t index
        cdef Gtid* gtid
        found = []
        for index in range(self.done.count):
            gtid = &self.done.base[index].first
            uuid = PyBytes_FromStringAndSize(<char*>gtid.uuid, 16)
            found.append((uuid, gtid.domain, gtid.server, gtid.number, self.done.base[index].last))
        return found

    cdef Taken _mysql_gtid(self, const uint8_t* p, const uint8_t* end, bint named) noexcept nogil:
        """flags 1, uuid 16, number 8, clock 1 and two times 8, time of the commit 7, with its top bit set another 7,
        length of the transaction; see `decode/binlog/gtid_events.py`."""
        cdef uint64_t commit_us = 0
        cdef int64_t length = 0
        if self.state != BETWEEN or (end - p < 42 and end - p != 25):  # MySQL 5.6 knows no clock
            return STOP
        if end - p >= 49 and p[25] == 2:
            commit_us = little(p + 42, 7)
            length = _length(p + (56 if commit_us & HAS_ORIGINAL else 49), end)
            commit_us &= ~HAS_ORIGINAL
        if commit_us >= LATEST_US or length < 0 or <int64_t>little(p + 17, 8) < 0:
            return STOP
        self.commit_us = commit_us
        self._announce()
        self.length = length
        if not named:
            self._without_gtid()
            return NEXT
        self.gtid.kind = 1
        memcpy(self.gtid.uuid, p + 1, 16)
        self.gtid.domain = self.gtid.server = 0
        self.gtid.number = little(p + 17, 8)
        return self._put_gtid()

    cdef Taken _mariadb_gtid(self, const uint8_t* p, const uint8_t* end, uint32_t server) noexcept nogil:
        """number 8, domain 4, flags 1. XA transactions (64, 128) are Python's."""
        if self.state != BETWEEN or end - p < 13 or p[12] & 0xC0:
            return STOP
        self.commit_us = 0
        self._announce()
        self.length = 0
        self.gtid.kind = 2
        memset(self.gtid.uuid, 0, 16)
        self.gtid.number, self.gtid.domain, self.gtid.server = little(p, 8), <uint32_t>little(p + 8, 4), server
        self.standalone = p[12] & 1
        if not self.standalone:
            self.state = OPEN
        return self._put_gtid()

    cdef Taken _put_gtid(self) noexcept nogil:
        """Its texts: in the position and as JSON."""
        self.position.used = self.json_gtid.used = 0
        if (
            put_gtid(&self.position, &self.gtid) != OK
            or put(&self.json_gtid, '"', 1) != OK
            or put(&self.json_gtid, self.position.base, self.position.used) != OK
            or put(&self.json_gtid, '"', 1) != OK
        ):
            self.state = BETWEEN
            return STOP
        return NEXT

    cdef void _announce(self) noexcept nogil:
        self.state = ANNOUNCED
        self.row = self.told = self.row_event = 0
        self.start = self.offset
        self.position_number = -1
        self.ts_us = self.commit_us
        self.thread = -1

    cdef void _without_gtid(self) noexcept nogil:
        self.gtid.kind = 0
        self.json_gtid.used = self.position.used = 0
        put(&self.json_gtid, "null", 4)
        # The file's name without its quotes: one that needed escapes would not be JSON's.
        put(&self.position, self.moment.file + 1, self.moment.file_size - 2)
        put(&self.position, ":", 1)
        put_unsigned(&self.position, self.start)

    cdef Taken _query(self, const uint8_t* p, const uint8_t* end, uint32_t timestamp, int64_t behind) noexcept nogil:
        """thread 4, time 4, length of the database 1, error 2, length of the status 2, status, database, 0, text."""
        cdef const uint8_t* text
        if end - p < 13:
            return STOP
        text = p + 13 + little(p + 11, 2) + p[8] + 1
        if text > end:
            return STOP
        if end - text == 5 and memcmp(text, "BEGIN", 5) == 0:
            if self.state == BETWEEN or (self.state == OPEN and self.row):
                return STOP
            self.state = OPEN
            self.thread = little(p, 4)
            return NEXT
        if end - text == 6 and memcmp(text, "COMMIT", 6) == 0 and self.state == OPEN and self.waits == NULL:
            return self._finish(timestamp, behind)
        return STOP

    cdef Taken _finish(self, uint32_t timestamp, int64_t behind) noexcept nogil:
        if self.gtid.kind and add_executed(&self.done, &self.gtid) != OK:
            return STOP
        self.gtid.kind = 0
        self.boundary, self.boundary_at, self.boundary_s = behind, self.offset, timestamp
        self.state = BETWEEN
        self.source_ms = self.commit_us // 1000 if self.commit_us >= 1000 else <int64_t>timestamp * 1000
        self.moved = True
        self.whole = self.arena.count
        self.rows += self.new_rows - self.new_told
        self.size += self.new_size
        self.new_rows = self.new_size = self.new_told = 0
        self.transactions += 1
        if self.queries:
            self._statement_ended()
        return NEXT

    # What is known at their ends

    cdef Taken _complete(self, uint64_t xid, uint32_t server, int64_t behind) noexcept nogil:
        """Puts it into the records that wait for it."""
        cdef LateText row, last
        cdef int64_t size
        if self.waits == NULL:
            return NEXT
        if complete_late(
            self.waits, &row, &last, &self.late_text, &self.moment, self.json_gtid.base, self.json_gtid.used, xid, behind,
            self.server_id, self.thread,
        ) != OK or self.arena.complete_by(<size_t>self.whole, &row, &last) != OK:
            return STOP
        self.new_size = self.arena.size_from(<size_t>self.whole)
        self.waits = NULL
        return NEXT

    # Statements behind their rows

    cdef Taken _rows_query(self, const uint8_t* text, const uint8_t* end) noexcept nogil:
        if text > end:
            return STOP
        self.query_at, self.query_end = text - self.buffer, end - self.buffer
        self.query_of = self.start
        return NEXT

    cdef void _statement_ended(self) noexcept nogil:
        self.query_at = -1
        self.asked = False
        if self.query is not None:
            self._forget_query()

    cdef void _forget_query(self) noexcept with gil:
        self.query = None
