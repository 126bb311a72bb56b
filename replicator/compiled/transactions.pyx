"""Holds the state of the current transaction and handles the events that begin and end it, for `Loop`."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memcpy, memset
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE

from replicator.compiled.arena cimport Arena, DeferredPieces
from replicator.compiled.gtids cimport Executed, Gtid, add_executed, put_gtid
from replicator.compiled.deferred_fields cimport DeferredProgram, complete_deferred
from replicator.compiled.out cimport OK, Out, little, put, put_unsigned
from replicator.compiled.tables cimport Tables

from replicator.model.uuids import row_uuid

ABI = 14

cdef uint64_t LATEST_US = <uint64_t>1 << 52  # the year 2112: times in nanoseconds have to fit, too
cdef uint64_t HAS_ORIGINAL = <uint64_t>1 << 55

cdef enum:
    UUID_LENGTH = 36

cdef enum GtidKind:  # of `Gtid.kind`
    MYSQL_GTID = 1
    MARIADB_GTID = 2
    OTHER_GTID = 3  # what does not fit into a `Gtid`: the Python decoder goes on with it


cdef uuid_text(Gtid* gtid):
    cdef str digits = PyBytes_FromStringAndSize(<char*>gtid.uuid, 16).hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


cdef set_text(Out* out, bytes text):
    out.used = 0
    if put(out, PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text)) != OK:
        raise MemoryError


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
    """The state of the current transaction: see `decode.transactions.transaction_state`, which has the same attributes.

    Attributes:
        kind: of the last event that was taken.
        boundary: end of the last transaction that the run has finished; -1: none.
        boundary_at, boundary_s: first byte and time of the event that finished it.
        queries: the format is told of the statements behind rows.
    """

    def __cinit__(self, *_arguments, **_options):
        self.tables = Tables()
        self.query_start = self.thread_id = -1
        self.executed_json = self.tsid_json = self.query_json = "null"
        self.file_json = "null"
        self.gtid_json = "null"

    def __dealloc__(self):
        free(self.gtid_text.base)
        free(self.position_text.base)
        free(self.done.base)
        free(self.deferred_text.base)

    cdef begin(self, Arena arena):
        """Before each run."""
        self.arena = arena
        self.full = False
        self.tables.begin(arena)
        self.done.count = 0
        self.boundary = self.query_at = -1
        self.position_number = -1

    cdef end(self, bytes buffer):
        """After each run: what it has borrowed becomes its own."""
        self.held_deferred = None if self.waits == NULL else <object>self.waits
        if self.query_at >= 0:
            self.query = buffer[self.query_at:self.query_end]
            self.query_at = -1
        self.tables.end()
        self.arena = None

    @property
    def ordinary(self):
        """Whether `run` can advance this state."""
        return (
            self.current_gtid.kind != OTHER_GTID and self.other_deferred is None and self.phase <= OPEN
            and <uint64_t>self.commit_us < LATEST_US
        )

    @property
    def gtid(self):
        cdef Gtid* gtid = &self.current_gtid
        if gtid.kind == MYSQL_GTID:
            return uuid_text(gtid), gtid.number
        if gtid.kind == MARIADB_GTID:
            return gtid.domain, gtid.server, gtid.number
        return self.other_gtid if gtid.kind == OTHER_GTID else None

    @gtid.setter
    def gtid(self, value):
        cdef Gtid* gtid = &self.current_gtid
        cdef bytes uuid
        memset(gtid, 0, sizeof(Gtid))
        self.other_gtid = None
        if value is None:
            return
        if value[len(value) - 1] < 0 or (len(value) == 2 and len(value[0]) != UUID_LENGTH):  # tagged, or damaged
            gtid.kind, self.other_gtid = OTHER_GTID, value
        elif len(value) == 2:
            uuid = bytes.fromhex(value[0].replace("-", ""))
            memcpy(gtid.uuid, PyBytes_AS_STRING(uuid), 16)
            gtid.kind, gtid.number = MYSQL_GTID, value[1]
        else:
            gtid.domain, gtid.server, gtid.number = value
            gtid.kind = MARIADB_GTID

    @property
    def deferred(self):
        return self.other_deferred if self.waits == NULL else (<DeferredProgram>self.waits).text

    @deferred.setter
    def deferred(self, value):
        program = None if value is None else self.tables.find_deferred_program(value)
        self.waits, self.held_deferred, self.other_deferred = NULL, None, None
        if type(program) is DeferredProgram:
            self.held_deferred, self.waits = program, <void*>program
        else:
            self.other_deferred = value

    @property
    def thread(self):
        return "null" if self.thread_id < 0 else self.thread_id

    @thread.setter
    def thread(self, value):
        self.thread_id = -1 if value == "null" else value

    @property
    def gtid_json(self):
        return PyBytes_FromStringAndSize(self.gtid_text.base, self.gtid_text.used).decode("latin-1")

    @gtid_json.setter
    def gtid_json(self, str value):
        set_text(&self.gtid_text, value.encode("latin-1"))

    @property
    def position(self):
        return PyBytes_FromStringAndSize(self.position_text.base, self.position_text.used)

    @position.setter
    def position(self, bytes value):
        set_text(&self.position_text, value)

    @property
    def file_json(self):
        return self.file_text.decode("latin-1")

    @file_json.setter
    def file_json(self, str value):
        self.file_text = value.encode("latin-1")
        self.moment.file, self.moment.file_size = PyBytes_AS_STRING(self.file_text), PyBytes_GET_SIZE(self.file_text)

    def uuid(self, row):
        """JSON text of a row's identity."""
        return f'"{row_uuid(self.position, row)}"'

    cdef texts(self):
        """(JSON text of the GTID, position) of the current transaction."""
        return (
            PyBytes_FromStringAndSize(self.gtid_text.base, self.gtid_text.used),
            PyBytes_FromStringAndSize(self.position_text.base, self.position_text.used),
        )

    def executed(self):
        """GTIDs of the transactions that the run has finished: (uuid, first, last), (domain, server, last)."""
        cdef size_t index
        cdef Executed* each
        found = []
        for index in range(self.done.count):
            each = self.done.base + index
            if each.first.kind == MYSQL_GTID:
                found.append((uuid_text(&each.first), each.first.number, each.last))
            else:
                found.append((each.first.domain, each.first.server, each.last))
        return found

    cdef Taken _mysql_gtid(self, const uint8_t* p, const uint8_t* end, bint named) noexcept nogil:
        """flags 1, uuid 16, number 8, clock 1 and two times 8, time of the commit 7, with its top bit set another 7,
        length of the transaction; see `decode/binlog/gtid_events.py`."""
        cdef uint64_t commit_us = 0
        cdef int64_t length = 0
        if self.phase != BETWEEN or (end - p < 42 and end - p != 25):  # MySQL 5.6 knows no clock
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
        self.current_gtid.kind = MYSQL_GTID
        memcpy(self.current_gtid.uuid, p + 1, 16)
        self.current_gtid.domain = self.current_gtid.server = 0
        self.current_gtid.number = little(p + 17, 8)
        return self._put_gtid()

    cdef Taken _mariadb_gtid(self, const uint8_t* p, const uint8_t* end, uint32_t server) noexcept nogil:
        """number 8, domain 4, flags 1. XA transactions (64, 128) are Python's."""
        if self.phase != BETWEEN or end - p < 13 or p[12] & 0xC0:
            return STOP
        self.commit_us = 0
        self._announce()
        self.length = 0
        self.current_gtid.kind = MARIADB_GTID
        memset(self.current_gtid.uuid, 0, 16)
        self.current_gtid.number, self.current_gtid.domain, self.current_gtid.server = little(p, 8), <uint32_t>little(p + 8, 4), server
        self.standalone = p[12] & 1
        if not self.standalone:
            self.phase = OPEN
        return self._put_gtid()

    cdef Taken _put_gtid(self) noexcept nogil:
        """Its texts: in the position and as JSON."""
        self.position_text.used = self.gtid_text.used = 0
        if (
            put_gtid(&self.position_text, &self.current_gtid) != OK
            or put(&self.gtid_text, '"', 1) != OK
            or put(&self.gtid_text, self.position_text.base, self.position_text.used) != OK
            or put(&self.gtid_text, '"', 1) != OK
        ):
            self.phase = BETWEEN
            return STOP
        return NEXT

    cdef void _announce(self) noexcept nogil:
        self.phase = ANNOUNCED
        self.row = self.messages = self.row_events = 0
        self.skipped = False
        self.start = self.offset
        self.position_number = -1
        self.ts_us = self.commit_us
        self.thread_id = -1

    cdef void _without_gtid(self) noexcept nogil:
        self.current_gtid.kind = 0
        self.gtid_text.used = self.position_text.used = 0
        put(&self.gtid_text, "null", 4)
        # The file's name without its quotes: one that needed escapes would not be JSON's.
        put(&self.position_text, self.moment.file + 1, self.moment.file_size - 2)
        put(&self.position_text, ":", 1)
        put_unsigned(&self.position_text, self.start)

    cdef Taken _query(self, const uint8_t* p, const uint8_t* end, uint32_t timestamp, int64_t behind) noexcept nogil:
        """thread 4, time 4, length of the database 1, error 2, length of the status 2, status, database, 0, text."""
        cdef const uint8_t* text
        if end - p < 13:
            return STOP
        text = p + 13 + little(p + 11, 2) + p[8] + 1
        if text > end:
            return STOP
        if end - text == 5 and memcmp(text, "BEGIN", 5) == 0:
            if self.phase == BETWEEN or (self.phase == OPEN and self.row):
                return STOP
            self.phase = OPEN
            self.thread_id = little(p, 4)
            return NEXT
        if end - text == 6 and memcmp(text, "COMMIT", 6) == 0 and self.phase == OPEN and self.waits == NULL:
            return self._finish(timestamp, behind)
        return STOP

    cdef Taken _finish(self, uint32_t timestamp, int64_t behind) noexcept nogil:
        if self.current_gtid.kind and add_executed(&self.done, &self.current_gtid) != OK:
            return STOP
        self.current_gtid.kind = 0
        self.boundary, self.boundary_at, self.boundary_s = behind, self.offset, self.stamp
        self.phase = BETWEEN
        self.source_ms = self.commit_us // 1000 if self.commit_us >= 1000 else <int64_t>timestamp * 1000
        if not self.finished_records:
            self.first_ms = self.source_ms
        self.moved = True
        self.finished_records = self.arena.count
        self.finished_rows += self.pending_rows - self.pending_messages
        self.finished_size += self.pending_size
        self.pending_rows = self.pending_size = self.pending_messages = 0
        self.finished_transactions += 1
        self.finished_skipped += self.skipped
        if self.queries:
            self._statement_ended()
        return NEXT

    # What is known at their ends

    cdef Taken _complete(self, uint64_t xid, uint32_t server, int64_t behind) noexcept nogil:
        """Puts it into the records that wait for it."""
        cdef DeferredPieces row, last
        cdef int64_t size
        if self.waits == NULL:
            return NEXT
        if complete_deferred(
            self.waits, &row, &last, &self.deferred_text, &self.moment, self.gtid_text.base, self.gtid_text.used, xid,
            behind, self.server_id, self.thread_id,
        ) != OK or self.arena.complete_by(<size_t>self.finished_records, &row, &last) != OK:
            return STOP
        self.pending_size = self.arena.size_from(<size_t>self.finished_records)
        self.waits = NULL
        return NEXT

    # Statements behind their rows

    cdef Taken _rows_query(self, const uint8_t* text, const uint8_t* end) noexcept nogil:
        if text > end:
            return STOP
        self.query_at, self.query_end = text - self.buffer, end - self.buffer
        self.query_start = self.start
        return NEXT

    cdef void _statement_ended(self) noexcept nogil:
        self.query_at = -1
        self.query_told = False
        if self.query is not None:
            self._forget_query()

    cdef void _keep_query(self) noexcept with gil:
        """Its buffer goes."""
        self.query = PyBytes_FromStringAndSize(
            <const char*>self.buffer + self.query_at, <Py_ssize_t>(self.query_end - self.query_at)
        )
        self.query_at = -1

    cdef void _forget_query(self) noexcept with gil:
        self.query = None
