"""The usual events of a stream, one after the other, without Python: GTID, BEGIN, table maps, rows, commit.

`Loop.run` walks events from a place in a buffer on for as long as it knows each of them to be an ordinary one, and
stops in front of the first that is not: that one is Python's, and then the loop goes on behind it. It never refuses
anything, and what it leaves undone it has not touched.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memcpy, memset
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE

from replicator.compiled.arena cimport Arena, LateText
from replicator.compiled.checksum cimport crc32, replicator_crc_fill
from replicator.compiled.gtids cimport Done, Gtid, add_executed, put_gtid
from replicator.compiled.late cimport LateProgram, complete_late
from replicator.compiled.out cimport OK, Out, little, put, put_unsigned
from replicator.compiled.program cimport Moment, Program
from replicator.compiled.tables cimport Known, Tables

cdef extern from "<time.h>" nogil:
    struct timespec:
        int64_t tv_sec
        long tv_nsec
    int clock_gettime(int clock, timespec* now)
    int CLOCK_REALTIME


ABI = 3

cdef enum State:  # those of decode.progress.State
    BETWEEN = 0
    ANNOUNCED = 1
    OPEN = 2

cdef enum Kind:
    QUERY = 2
    XID = 16
    TABLE_MAP = 19
    WRITE_ROWS_V1 = 23
    DELETE_ROWS_V1 = 25
    ROWS_QUERY = 29
    WRITE_ROWS = 30
    DELETE_ROWS = 32
    GTID = 33
    ANONYMOUS_GTID = 34
    ANNOTATE_ROWS = 160
    MARIADB_GTID = 162

cdef enum:
    HEADER = 19
    ARTIFICIAL = 0x20
    LONGEST_PACKET = 0xFFFFFF
    STATEMENT_END = 1  # flag of a rows event

cdef uint64_t LATEST_US = <uint64_t>1 << 52  # the year 2112: times in nanoseconds have to fit, too

cdef enum Taken:
    STOP = 0
    NEXT = 1

cdef enum:
    STOPPED = -1

cdef class Loop:
    """The attributes are the decoder's state; whoever calls `run` sets them before and takes them back after it.

    Args:
        packets: the stream comes in packets of the client/server protocol, else events stand back to back.
        late_of: see `Tables`.
        messages: the format's records of a statement behind rows: (text, `Moment`'s fields) -> records without position
            and number.
        clock: ns since the epoch; None: the system's.

    Attributes:
        kind: of the last event that was taken.
        whole: records of finished transactions.
        boundary: end of the last transaction that was finished; -1: none was.
        most_held: bytes that records which wait may have; the run ends when they have more.
        queries: the format is told of the statements behind rows.
        query: text of the statement at hand, from before the run; None: there is none, or it is the buffer's, or gone.
        query_at, query_end: where the text of the run's last statement stands in the buffer; -1: there was none, or (only
            with `queries`) its rows are over.
        asked: the format was told of the statement at hand.
    """

    cdef bint packets
    cdef object clock
    cdef object messages
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
    cdef public int64_t row, commit_us, whole
    cdef public int64_t rows, size, transactions, new_rows, new_size, source_ms
    cdef public bint moved
    cdef public int64_t ts_us, thread, pos, now_ns, event_s, server_id
    cdef public bint standalone
    cdef public int64_t most_held
    cdef public int64_t boundary, query_at, query_end, query_of
    cdef public bint queries, asked
    cdef public bytes query
    cdef public int64_t told, new_told

    def __cinit__(self, bint packets, late_of, messages=None, clock=None):
        self.packets = packets
        self.tables = Tables(late_of)
        self.messages = messages
        self.clock = clock
        replicator_crc_fill()

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

    def run(self, bytes buffer, Py_ssize_t at):
        """Takes events from `at` on. Returns where the first begins that it leaves."""
        cdef const uint8_t* base = <const uint8_t*>PyBytes_AS_STRING(buffer)
        cdef Py_ssize_t size = PyBytes_GET_SIZE(buffer)
        cdef Py_ssize_t left
        self.buffer = base
        with nogil:
            left = self._walk(base, at, size)
        self.tables.end()
        return left

    cdef Py_ssize_t _walk(self, const uint8_t* base, Py_ssize_t at, Py_ssize_t size) noexcept nogil:
        cdef Py_ssize_t start, end, length
        while True:
            if self.packets:
                if size - at < 4:
                    return at
                length = little(base + at, 3)
                start, end = at + 5, at + 4 + length
                if length == LONGEST_PACKET or length <= HEADER or end > size or base[at + 4] != 0:
                    return at
            else:
                if size - at < HEADER:
                    return at
                start = at
                end = at + little(base + at + 9, 4)
                if end > size or end - start < HEADER:
                    return at
            if self._event(base + start, base + end) != NEXT:
                return at
            at = end
            if self.full:
                return at

    cdef Taken _event(self, const uint8_t* p, const uint8_t* end) noexcept nogil:
        """One event with its header."""
        cdef int kind = p[4]
        cdef int64_t size = end - p
        cdef int64_t offset = self.offset
        cdef uint32_t timestamp = <uint32_t>little(p, 4)
        cdef uint32_t server = <uint32_t>little(p + 5, 4)
        cdef const uint8_t* body = p + HEADER
        cdef Taken done = STOP
        if (
            little(p + 9, 4) != <uint64_t>size
            or little(p + 17, 2) & ARTIFICIAL
            or little(p + 13, 4) != <uint64_t>(offset + size)
        ):
            return STOP
        if self.checksum:
            end -= 4
            if end < body or crc32(p, end - p) != <uint32_t>little(end, 4):
                return STOP
        if kind == TABLE_MAP:
            done = self._table_map(body, end)
        elif WRITE_ROWS <= kind <= DELETE_ROWS:
            done = self._rows(body, end, timestamp, server, kind - WRITE_ROWS, 2, offset + size)
        elif WRITE_ROWS_V1 <= kind <= DELETE_ROWS_V1:
            done = self._rows(body, end, timestamp, server, kind - WRITE_ROWS_V1, 1, offset + size)
        elif kind == XID:
            if (self.state == OPEN or self.state == ANNOUNCED) and end - body >= 8:
                done = self._complete(little(body, 8), server, offset + size)
                if done == NEXT:
                    done = self._finish(timestamp, offset + size)
        elif kind == QUERY:
            done = self._query(body, end, timestamp, offset + size)
        elif (kind == GTID or kind == ANONYMOUS_GTID) and not self.mariadb:
            done = self._mysql_gtid(body, end, kind == GTID)
        elif kind == MARIADB_GTID and self.mariadb:
            done = self._mariadb_gtid(body, end, server)
        elif kind == ROWS_QUERY or kind == ANNOTATE_ROWS:
            done = self._rows_query(body + (1 if kind == ROWS_QUERY else 0), end)
        if done == NEXT:
            self.kind = kind
            self.at = offset
            self.offset = offset + size
        return done

    # Transactions

    cdef Taken _mysql_gtid(self, const uint8_t* p, const uint8_t* end, bint named) noexcept nogil:
        """flags 1, uuid 16, number 8, clock 1 and two times 8, time of the commit 7; see `decode/gtidevents.py`."""
        cdef uint64_t commit_us
        if self.state != BETWEEN or end - p < 42:
            return STOP
        commit_us = little(p + 42, 7) & ~(<uint64_t>1 << 55) if p[25] == 2 and end - p >= 49 else 0
        if commit_us >= LATEST_US or <int64_t>little(p + 17, 8) < 0:
            return STOP
        self.commit_us = commit_us
        self._announce()
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
        self.row = self.told = 0
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
        self.boundary = behind
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

    # Rows

    cdef Taken _table_map(self, const uint8_t* p, const uint8_t* end) noexcept nogil:
        cdef Known* known
        if end - p < 8:
            return STOP
        known = self.tables.find(little(p, 6))
        if known == NULL or known.size != end - p - 6 or memcmp(known.raw, p + 6, known.size) != 0:
            return STOP
        return NEXT

    cdef Taken _rows(
        self, const uint8_t* p, const uint8_t* end, uint32_t timestamp, uint32_t server, int operation, int version,
        int64_t behind
    ) noexcept nogil:
        """Table id 6, flags 2, in version 2 the length of extra data 2 and that, then what programs read."""
        cdef Known* known
        cdef const uint8_t* rows = p + 8
        cdef void* program
        if self.state != OPEN or end - p < 10:
            return STOP
        if version == 2:
            if little(p + 8, 2) < 2:
                return STOP
            rows += little(p + 8, 2)
            if rows > end:
                return STOP
        known = self.tables.find(little(p, 6))
        if known == NULL:
            return STOP
        if known.replicated:
            program = known.programs[operation]
            if program == NULL:
                if not self.tables.ask_program(known, operation):
                    return STOP
                program = known.programs[operation]
            if self._run(program, known, operation, rows, end, timestamp, server, behind) != NEXT:
                return STOP
        if self.queries and p[6] & STATEMENT_END:
            self._statement_ended()
        return NEXT

    cdef Taken _run(
        self, void* program, Known* known, int operation, const uint8_t* p, const uint8_t* end, uint32_t timestamp,
        uint32_t server, int64_t behind
    ) noexcept nogil:
        cdef size_t count = self.arena.count
        cdef size_t used = self.arena.bytes.used
        cdef bint asked = self.asked
        cdef int64_t told = self.told
        cdef int64_t first = self.row
        cdef int64_t row
        cdef int64_t size = 0
        if self.position_number < 0:
            self.position_number = self.arena.position_id(self.position.base, self.position.used)
        if self.position_number < 0:
            return STOP
        self.now_ns = self._now()
        self.event_s = timestamp
        self.pos = self.offset
        self.server_id = server
        if self.commit_us == 0:
            self.ts_us = <int64_t>timestamp * 1000000
        self._set_moment()
        row = first
        if self.queries and not self.asked and (self.query is not None or self.query_at >= 0):
            row = self._tell(behind)
            size = self.arena.size_from(count)
        if row >= 0:
            row = run_program(
                program, self.arena, p, end, row, &self.moment, known.topics[operation],
                <uint32_t>self.position_number, &size,
            )
        if row < 0:
            self.arena.count = count
            self.arena.bytes.used = used
            self.asked, self.told = asked, told
            return STOP
        if known.late != NULL:
            self.waits = known.late
        self.row = row
        self.new_told += self.told - told
        self.new_rows += row - first
        self.new_size += size
        if self.waits != NULL and self.new_size + 250 * self.new_rows > self.most_held:
            self.full = True
        return NEXT

    # Statements behind rows

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

    cdef int64_t _tell(self, int64_t behind) noexcept with gil:
        """Appends the format's records of the statement at hand, which are numbered like rows. Returns the number of the
        next row; -1: Python has to do it."""
        cdef int64_t row = self.row
        cdef bytes text
        try:
            text = self.query
            if self.query_at >= 0:
                text = PyBytes_FromStringAndSize(
                    <const char*>self.buffer + self.query_at, <Py_ssize_t>(self.query_end - self.query_at)
                )
            gtid, position = self.texts()
            for topic, key, value, headers, route in self.messages(
                text, self.event_s, self.ts_us, self.now_ns, gtid, self.offset, behind, self.server_id, self.thread
            ):
                record = topic, key, value, position, row, headers
                self.arena(record if route is None else (*record, route))
                row += 1
            self.told += row - self.row
            self.asked = True
            return row
        except Exception:
            return STOPPED

    # What is known at the end of a transaction

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

    cdef void _set_moment(self) noexcept nogil:
        cdef Moment* moment = &self.moment
        moment.ts_us, moment.now_ns, moment.event_s = self.ts_us, self.now_ns, self.event_s
        moment.pos, moment.server_id, moment.thread = self.pos, self.server_id, self.thread
        moment.gtid, moment.gtid_size = self.json_gtid.base, self.json_gtid.used

    cdef int64_t _now(self) noexcept nogil:
        cdef timespec now
        if self.clock is not None:
            return self._asked_clock()
        clock_gettime(CLOCK_REALTIME, &now)
        return now.tv_sec * 1000000000 + now.tv_nsec

    cdef int64_t _asked_clock(self) noexcept with gil:
        return self.clock()


cdef int64_t _run_program(
    Program program, Arena arena, const uint8_t* p, const uint8_t* end, int64_t row, Moment* moment, uint32_t topic,
    uint32_t position, int64_t* size,
) noexcept nogil:
    """As `Program.run`."""
    cdef int64_t behind
    if not program.alone or not program.matches(p, end) or program.prepare_natively(moment) != OK:
        return STOPPED
    program.told = program.table_rows = 0
    behind = program.run(arena, p, end, row, topic, position)
    size[0] += program.written
    return behind


# Programs are known by their addresses, see `Tables`.
ctypedef int64_t (*RunProgram)(
    void*, Arena, const uint8_t*, const uint8_t*, int64_t, Moment*, uint32_t, uint32_t, int64_t*
) noexcept nogil

cdef RunProgram run_program = <RunProgram><void*>_run_program
