"""Decodes the events of ordinary transactions in C: GTID, BEGIN, table maps, rows, commit.

`Loop.run` reads events of a buffer in order and stops before the first one that it does not handle. Python decodes that
event, and the loop then continues after it. The loop never raises decoding errors, and it changes nothing for an event
that it does not handle.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE

from replicator.compiled.arena cimport Arena
from replicator.compiled.checksum cimport (
    REPLICATOR_FOLDS, crc32, replicator_crc_begin, replicator_crc_folded, replicator_crc_sliced,
)
from replicator.compiled.moments cimport Moment
from replicator.compiled.out cimport OK, little
from replicator.compiled.payloads cimport HEADER, compressed_part, only_events
from replicator.compiled.program cimport Program
from replicator.compiled.tables cimport Known
from replicator.compiled.transactions cimport ANNOUNCED, NEXT, OPEN, STOP, Taken, Transactions

cdef extern from "<time.h>" nogil:
    struct timespec:
        int64_t tv_sec
        long tv_nsec
    int clock_gettime(int clock, timespec* now)
    int CLOCK_REALTIME

ABI = 14

replicator_crc_begin()

cdef enum Kind:
    QUERY = 2
    XID = 16
    TABLE_MAP = 19
    WRITE_ROWS_V1 = 23
    DELETE_ROWS_V1 = 25
    ROWS_QUERY = 29
    TRANSACTION_PAYLOAD = 40
    WRITE_ROWS = 30
    DELETE_ROWS = 32
    GTID = 33
    ANONYMOUS_GTID = 34
    ANNOTATE_ROWS = 160
    MARIADB_GTID = 162

cdef enum:
    ARTIFICIAL = 0x20
    LONGEST_PACKET = 0xFFFFFF
    STATEMENT_END = 1  # flag of a rows event

cdef enum:
    STOPPED = -1


cdef class Loop(Transactions):
    """The state of a compiled decoder, and the loop that advances it. For its attributes see `Transactions`.

    Args:
        packets: the stream comes in packets of the client/server protocol, else events follow each other directly.
        mariadb: the stream is of a MariaDB.
        clock: ns since the epoch; None: the system's.
    """

    cdef bint packets, mariadb
    cdef object clock
    cdef object statement_messages
    cdef object inflate
    cdef int64_t piece
    cdef bytes begun  # of a compressed transaction that has come to an event of Python's, and where that is
    cdef Py_ssize_t begun_at

    def __cinit__(self, bint packets=False, bint mariadb=False, clock=None):
        self.packets, self.mariadb, self.clock = packets, mariadb, clock

    def connect(self, dict ids, deferred_program, statement_messages, bint queries, inflate=None, int64_t piece=0):
        """
        Args:
            ids: table id -> version.
            deferred_program: `DeferredText` -> its `DeferredProgram`; None where there is none.
            statement_messages: the format's records of a statement behind rows: (text, `Moment`'s fields) -> records
                without position and number.
            queries: the format wants those records.
            inflate: (compressed events of a transaction, their size) -> the events, or as many bytes more as tell that
                they are longer; None: they are damaged.
            piece: bytes of events that it may be asked for.
        """
        self.tables.ids, self.tables.find_deferred_program = ids, deferred_program
        self.statement_messages, self.queries = statement_messages, queries
        self.inflate, self.piece = inflate, piece

    def run(self, bytes buffer, Py_ssize_t at, Arena arena, bint checksum):
        """Takes events from `at` on. Returns where the first begins that it leaves."""
        cdef const uint8_t* base = <const uint8_t*>PyBytes_AS_STRING(buffer)
        cdef Py_ssize_t size = PyBytes_GET_SIZE(buffer)
        cdef Py_ssize_t left
        self.buffer, self.checksum = base, checksum
        self.begin(arena)
        with nogil:
            left = self._walk(base, at, size)
        self.end(buffer)
        return left

    def run_inside(self, bytes buffer, Py_ssize_t at, Arena arena, bint whole, uint32_t stamp):
        """Takes events inside of a compressed transaction, from `at` on. Returns where the first begins that it leaves.

        Args:
            whole: the buffer ends with the transaction; else an event is left unless the next one is there, too.
            stamp: timestamp of the event that they are in, which is the state's current one.
        """
        cdef const uint8_t* base = <const uint8_t*>PyBytes_AS_STRING(buffer)
        cdef Py_ssize_t size = PyBytes_GET_SIZE(buffer)
        cdef Py_ssize_t left
        cdef int64_t behind = self.offset
        self.buffer, self.stamp = base, stamp
        self.begin(arena)
        self.offset = self.at
        with nogil:
            left = self._walk_inside(base, at, size, whole, behind)
        self.offset = behind
        self.end(buffer)
        return left

    def noted(self):
        """[(table, keys)]: of the rows of tables that are watched, once."""
        cdef Arena arena = self.tables.noted
        if arena is None or arena.count == 0:
            return ()
        found = arena.keys()
        self.tables.noted = None
        return found

    @property
    def inside_payload(self):
        """Whether the run has left a compressed transaction at an event inside it."""
        return self.begun is not None

    def begun_payload(self):
        """(events of a compressed transaction, where the first begins that is not taken), once; None: not begun."""
        found = None if self.begun is None else (self.begun, self.begun_at)
        self.begun = None
        return found

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
            if end < body or crc32(0, p, end - p) != <uint32_t>little(end, 4):
                return STOP
        self.stamp = timestamp
        if kind == TRANSACTION_PAYLOAD:
            done = self._payload(body, end, offset + size)
        elif (kind == GTID or kind == ANONYMOUS_GTID) and not self.mariadb:
            done = self._mysql_gtid(body, end, kind == GTID)
        elif kind == MARIADB_GTID and self.mariadb:
            done = self._mariadb_gtid(body, end, server)
        else:
            done = self._change(kind, body, end, timestamp, server, offset + size)
        if done == NEXT:
            self.kind = kind
            self.at = offset
            self.offset = offset + size
        return done

    cdef Taken _change(
        self, int kind, const uint8_t* body, const uint8_t* end, uint32_t timestamp, uint32_t server, int64_t behind
    ) noexcept nogil:
        """An event that may be inside a compressed transaction, too; `behind`: where the one in the stream ends."""
        cdef Taken done = STOP
        if kind == TABLE_MAP:
            done = self._table_map(body, end)
        elif WRITE_ROWS <= kind <= DELETE_ROWS:
            done = self._rows(body, end, timestamp, server, kind - WRITE_ROWS, 2, behind)
        elif WRITE_ROWS_V1 <= kind <= DELETE_ROWS_V1:
            done = self._rows(body, end, timestamp, server, kind - WRITE_ROWS_V1, 1, behind)
        elif kind == XID:
            if (self.phase == OPEN or self.phase == ANNOUNCED) and end - body >= 8:
                done = self._complete(little(body, 8), server, behind)
                if done == NEXT:
                    done = self._finish(timestamp, behind)
        elif kind == QUERY:
            done = self._query(body, end, timestamp, behind)
        elif kind == ROWS_QUERY or kind == ANNOTATE_ROWS:
            done = self._rows_query(body + (1 if kind == ROWS_QUERY else 0), end)
        return done

    # Compressed transactions

    cdef Taken _payload(self, const uint8_t* p, const uint8_t* end, int64_t behind) noexcept nogil:
        """One that is a single piece; others, and one whose events are not whole, are Python's."""
        cdef int64_t size = 0
        cdef bint stored = False
        cdef Py_ssize_t left
        cdef const uint8_t* base
        cdef const uint8_t* outer = self.buffer
        p = compressed_part(p, end, &size, &stored)
        if p == NULL or size > self.piece or self.inflated >= self.piece:
            return STOP
        base = self._begin_payload(p, end, size, stored)
        if base == NULL:
            return STOP
        if not only_events(base, size):
            self._end_payload()
            return STOP
        self.inflated += size
        self.buffer = base
        left = self._walk_inside(base, 0, size, True, behind)
        if self.query_at >= 0:
            self._keep_query()
        self.buffer = outer
        if left < size:
            self.begun_at = left
            return STOP
        self._end_payload()
        return NEXT

    cdef const uint8_t* _begin_payload(
        self, const uint8_t* p, const uint8_t* end, int64_t size, bint stored
    ) noexcept with gil:
        """NULL: Python has to say what is wrong, or decompresses it piece by piece."""
        cdef bytes found
        try:
            if self.inflate is None:
                return NULL
            found = PyBytes_FromStringAndSize(<const char*>p, end - p)
            if not stored:
                found = self.inflate(found, size)
            if found is None or PyBytes_GET_SIZE(found) != size:
                return NULL
            if self.query_at >= 0:
                self._keep_query()
            self.begun = found
            return <const uint8_t*>PyBytes_AS_STRING(found)
        except Exception:
            return NULL

    cdef void _end_payload(self) noexcept with gil:
        self.begun = None

    cdef Py_ssize_t _walk_inside(
        self, const uint8_t* base, Py_ssize_t at, Py_ssize_t size, bint whole, int64_t behind
    ) noexcept nogil:
        """See `run_inside`."""
        cdef const uint8_t* p
        cdef Py_ssize_t end
        while size - at >= HEADER:
            p = base + at
            end = at + <Py_ssize_t>little(p + 9, 4)
            if end - at < HEADER or end > size:
                return at
            if not whole and (
                size - end < HEADER or not HEADER <= <Py_ssize_t>little(base + end + 9, 4) <= size - end
            ):
                return at
            if self._change(
                p[4], p + HEADER, base + end, <uint32_t>little(p, 4), <uint32_t>little(p + 5, 4), behind
            ) != NEXT:
                return at
            self.kind = p[4]
            at = end
            if self.full:
                return at
        return at

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
        cdef int skipped
        if self.phase != OPEN or end - p < 10:
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
        if known.guarded and self.row_events == 0:
            skipped = self.tables.skips(known, rows, end, operation)
            if skipped < 0:
                return STOP
            self.skipped = skipped
        if known.replicated and not self.skipped:
            program = known.programs[operation]
            if program == NULL:
                if not self.tables.ask_program(known, operation):
                    return STOP
                program = known.programs[operation]
            self.row_flags = little(p + 6, 2)
            if self._run(program, known, operation, rows, end, timestamp, server, behind) != NEXT:
                return STOP
        self.row_events += 1
        if self.queries and p[6] & STATEMENT_END:
            self._statement_ended()
        return NEXT

    cdef Taken _run(
        self, void* program, Known* known, int operation, const uint8_t* p, const uint8_t* end, uint32_t timestamp,
        uint32_t server, int64_t behind
    ) noexcept nogil:
        cdef size_t count = self.arena.count
        cdef size_t used = self.arena.bytes.used
        cdef bint asked = self.query_told
        cdef int64_t told = self.messages
        cdef int64_t first = self.row
        cdef int64_t row
        cdef int64_t size = 0
        if self.position_number < 0:
            self.position_number = self.arena.position_id(self.position_text.base, self.position_text.used)
        if self.position_number < 0:
            return STOP
        self.now_ns = self._now()
        self.event_s = timestamp
        self.pos = self.offset
        self.server_id = server
        if self.commit_us == 0:
            self.ts_us = <int64_t>timestamp * 1000000
        self._set_moment()
        if known.keys[operation] != NULL and self._note(known, operation, p, end) != NEXT:
            return STOP
        row = first
        if self.queries and not self.query_told and (self.query is not None or self.query_at >= 0):
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
            self.query_told, self.messages = asked, told
            return STOP
        if known.deferred != NULL:
            self.waits = known.deferred
        self.row = row
        self.pending_messages += self.messages - told
        self.pending_rows += row - first
        self.pending_size += size
        if self.waits != NULL and self.pending_size + 250 * self.pending_rows > self.most_pending:
            self.full = True
        return NEXT

    cdef Taken _note(self, Known* known, int operation, const uint8_t* p, const uint8_t* end) noexcept nogil:
        """The keys of rows, for a watcher. If the event is Python's after all, they are noted twice."""
        cdef size_t count = self.tables.noted.count
        cdef size_t used = self.tables.noted.bytes.used
        cdef int64_t position = self.tables.noted.position_id("", 0)
        cdef int64_t size = 0
        if position >= 0 and run_program(
            known.keys[operation], self.tables.noted, p, end, 0, &self.moment, known.names[operation],
            <uint32_t>position, &size,
        ) >= 0:
            return NEXT
        self.tables.noted.count = count
        self.tables.noted.bytes.used = used
        return STOP

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
            for topic, key, value, headers, route in self.statement_messages(
                text, self.event_s, self.ts_us, self.now_ns, gtid, self.offset, behind, self.server_id, self.thread_id
            ):
                record = topic, key, value, position, row, headers
                self.arena(record if route is None else (*record, route))
                row += 1
            self.messages += row - self.row
            self.query_told = True
            return row
        except Exception:
            return STOPPED

    cdef void _set_moment(self) noexcept nogil:
        cdef Moment* moment = &self.moment
        moment.ts_us, moment.now_ns, moment.event_s = self.ts_us, self.now_ns, self.event_s
        moment.pos, moment.server_id, moment.thread = self.pos, self.server_id, self.thread_id
        moment.flags = self.row_flags
        moment.gtid, moment.gtid_size = self.gtid_text.base, self.gtid_text.used

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
    program.messages = program.table_rows = 0
    behind = program.run(arena, p, end, row, topic, position)
    size[0] += program.written
    return behind


# Programs are known by their addresses, see `Tables`.
ctypedef int64_t (*RunProgram)(
    void*, Arena, const uint8_t*, const uint8_t*, int64_t, Moment*, uint32_t, uint32_t, int64_t*
) noexcept nogil

cdef RunProgram run_program = <RunProgram><void*>_run_program


def checksum(bytes data, Py_ssize_t first=0, uint32_t crc=0, folded=None):
    """`zlib.crc32` of what stands from `first` on, as events are checked. folded: which way to go; None: the usual one."""
    cdef const uint8_t* p = <const uint8_t*>PyBytes_AS_STRING(data) + first
    cdef Py_ssize_t size = PyBytes_GET_SIZE(data) - first
    if not 0 <= size <= PyBytes_GET_SIZE(data):
        raise IndexError(first)
    if folded is None:
        return crc32(crc, p, size)
    if folded and REPLICATOR_FOLDS and size >= 16:
        return replicator_crc_folded(crc, p, size)
    return replicator_crc_sliced(crc, p, size)


def folds():
    """Whether this machine has carry-less multiplication."""
    return REPLICATOR_FOLDS != 0
