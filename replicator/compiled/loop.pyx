"""The usual events of a stream, one after the other, without Python: GTID, BEGIN, table maps, rows, commit.

`Loop.run` walks events from a place in a buffer on for as long as it knows each of them to be an ordinary one, and
stops in front of the first that is not: that one is Python's, and then the loop goes on behind it. It never refuses
anything, and what it leaves undone it has not touched.
"""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcmp, memcpy, memset
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE

from replicator.compiled.arena cimport MOST_PIECES, Arena, LateText
from replicator.compiled.checksum cimport crc32, replicator_crc_fill
from replicator.compiled.late cimport LateProgram, complete_late
from replicator.compiled.out cimport OK, Out, big, little, put, put_unsigned, unsigned_at
from replicator.compiled.program cimport Moment, Program

cdef extern from "<time.h>" nogil:
    struct timespec:
        int64_t tv_sec
        long tv_nsec
    int clock_gettime(int clock, timespec* now)
    int CLOCK_REALTIME


ABI = 2

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
    TABLES = 64

cdef uint64_t LATEST_US = <uint64_t>1 << 52  # the year 2112: times in nanoseconds have to fit, too

cdef enum Done:
    STOP = 0
    NEXT = 1

cdef enum:
    STOPPED = -1

ctypedef struct Known:
    # A table id of this run.
    uint64_t id
    const char* raw  # NULL: a free place
    Py_ssize_t size
    void* version
    void* programs[3]  # NULL: ask
    uint32_t topics[3]
    bint replicated
    void* late  # its LateProgram; NULL: its records do not wait

ctypedef struct Executed:
    # GTIDs of finished transactions, next to each other.
    uint8_t uuid[16]
    uint32_t domain
    uint32_t server
    uint64_t first
    uint64_t last


cdef class Loop:
    """The attributes are the decoder's state; whoever calls `run` sets them before and takes them back after it.

    Args:
        packets: the stream comes in packets of the client/server protocol, else events stand back to back.
        late_of: what records wait for (`decode.late.Ending`) -> its `LateProgram`; None where that can't be had.
        clock: ns since the epoch; None: the system's.

    Attributes:
        gtid: 0 none, 1 MySQL's (`uuid`, `number`), 2 MariaDB's (`domain`, `gtid_server`, `number`).
        kind: of the last event that was taken.
        whole: records of finished transactions.
        boundary: end of the last transaction that was finished; -1: none was.
        most_held: bytes that records which wait may have; the run ends when they have more.
        query_at, query_end: where the last statement's text stands in the buffer; -1: there was none.
    """

    cdef bint packets
    cdef object clock
    cdef Arena arena
    cdef dict ids
    cdef list held
    cdef list taken
    cdef object late_of  # version -> its LateProgram, or None
    cdef void* waits  # LateProgram of the transaction at hand
    cdef Out late_text
    cdef bint full
    cdef Known known[TABLES]
    cdef Moment moment
    cdef Out json_gtid
    cdef Out position
    cdef bytes file
    cdef Executed* done
    cdef size_t done_count
    cdef size_t done_room
    cdef int64_t position_number
    cdef const uint8_t* buffer
    cdef uint8_t uuid[16]

    cdef public bint checksum, mariadb
    cdef public int state, kind
    cdef public int64_t offset, at, start
    cdef public int64_t row, commit_us, whole
    cdef public int64_t rows, size, transactions, new_rows, new_size, source_ms
    cdef public bint moved
    cdef public int gtid
    cdef public uint32_t domain, gtid_server
    cdef public uint64_t number
    cdef public int64_t ts_us, thread, pos, now_ns, event_s, server_id
    cdef public bint standalone
    cdef public int64_t most_held
    cdef public int64_t boundary, query_at, query_end, query_of

    def __cinit__(self, bint packets, late_of, clock=None):
        self.packets = packets
        self.late_of = late_of
        self.clock = clock
        self.held = []
        self.taken = []
        replicator_crc_fill()

    def __dealloc__(self):
        free(self.json_gtid.base)
        free(self.position.base)
        free(self.done)
        free(self.late_text.base)

    def begin(self, Arena arena, dict ids, bytes file, bytes gtid, bytes position, bytes uuid, late):
        """Before each run. `ids`: table id -> version; `file`, `gtid`: JSON text; `uuid`: of the GTID, or empty; `late`:
        what the transaction at hand waits for."""
        self.arena = arena
        self.waits, self.full = NULL, False
        self.ids = ids
        self.file = file
        self.held.clear()
        memset(self.known, 0, sizeof(self.known))
        self.done_count = 0
        self.boundary = self.query_at = -1
        self.position_number = -1
        self.json_gtid.used = self.position.used = 0
        if (
            put(&self.json_gtid, PyBytes_AS_STRING(gtid), PyBytes_GET_SIZE(gtid)) != OK
            or put(&self.position, PyBytes_AS_STRING(position), PyBytes_GET_SIZE(position)) != OK
        ):
            raise MemoryError
        if len(uuid) == 16:
            memcpy(self.uuid, PyBytes_AS_STRING(uuid), 16)
        self.moment.file, self.moment.file_size = PyBytes_AS_STRING(file), PyBytes_GET_SIZE(file)
        if late is not None and not self._set_late(late):
            raise ValueError("this can't be printed here")

    def texts(self):
        """(JSON text of the GTID, position, uuid of the GTID) of the transaction at hand."""
        return (
            PyBytes_FromStringAndSize(self.json_gtid.base, self.json_gtid.used),
            PyBytes_FromStringAndSize(self.position.base, self.position.used),
            PyBytes_FromStringAndSize(<char*>self.uuid, 16),
        )

    @property
    def late(self):
        """What the transaction at hand waits for."""
        return None if self.waits == NULL else (<LateProgram>self.waits).late

    cdef bint _set_late(self, late) except? False:
        program = self.late_of(late)
        if type(program) is not LateProgram:
            return False
        self.held.append(program)
        self.waits = <void*>program
        return True

    def executed(self):
        """GTIDs of the transactions that were finished: (uuid, domain, server, first, last)."""
        cdef size_t index
        found = []
        for index in range(self.done_count):
            one = self.done[index]
            found.append(
                (PyBytes_FromStringAndSize(<char*>one.uuid, 16), one.domain, one.server, one.first, one.last)
            )
        return found

    def run(self, bytes buffer, Py_ssize_t at):
        """Takes events from `at` on. Returns where the first begins that it leaves."""
        cdef const uint8_t* base = <const uint8_t*>PyBytes_AS_STRING(buffer)
        cdef Py_ssize_t size = PyBytes_GET_SIZE(buffer)
        cdef Py_ssize_t left
        self.buffer = base
        with nogil:
            left = self._walk(base, at, size)
        for program in self.taken:
            (<Program>program).busy = False
        self.taken.clear()
        self.held.clear()
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

    cdef Done _event(self, const uint8_t* p, const uint8_t* end) noexcept nogil:
        """One event with its header."""
        cdef int kind = p[4]
        cdef int64_t size = end - p
        cdef int64_t offset = self.offset
        cdef uint32_t timestamp = <uint32_t>little(p, 4)
        cdef uint32_t server = <uint32_t>little(p + 5, 4)
        cdef const uint8_t* body = p + HEADER
        cdef Done done = STOP
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
            done = self._rows(body, end, timestamp, server, kind - WRITE_ROWS, 2)
        elif WRITE_ROWS_V1 <= kind <= DELETE_ROWS_V1:
            done = self._rows(body, end, timestamp, server, kind - WRITE_ROWS_V1, 1)
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
            done = NEXT
            self.query_at = body - self.buffer + (1 if kind == ROWS_QUERY else 0)
            self.query_end = end - self.buffer
            self.query_of = self.start
        if done == NEXT:
            self.kind = kind
            self.at = offset
            self.offset = offset + size
        return done

    # Transactions

    cdef Done _mysql_gtid(self, const uint8_t* p, const uint8_t* end, bint named) noexcept nogil:
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
        self.gtid = 1
        memcpy(self.uuid, p + 1, 16)
        self.number = little(p + 17, 8)
        self.position.used = 0
        if not self._put_uuid():
            self.state = BETWEEN
            return STOP
        return self._quote_gtid()

    cdef bint _put_uuid(self) noexcept nogil:
        cdef char text[64]
        cdef const char* digits = "0123456789abcdef"
        cdef int index
        cdef int at = 0
        for index in range(16):
            if index == 4 or index == 6 or index == 8 or index == 10:
                text[at] = c'-'
                at += 1
            text[at] = digits[self.uuid[index] >> 4]
            text[at + 1] = digits[self.uuid[index] & 15]
            at += 2
        text[at] = c':'
        at = <int>(unsigned_at(text + at + 1, self.number) - text)
        return put(&self.position, text, at) == OK

    cdef Done _quote_gtid(self) noexcept nogil:
        self.json_gtid.used = 0
        if (
            put(&self.json_gtid, '"', 1) != OK
            or put(&self.json_gtid, self.position.base, self.position.used) != OK
            or put(&self.json_gtid, '"', 1) != OK
        ):
            self.state = BETWEEN
            return STOP
        return NEXT

    cdef Done _mariadb_gtid(self, const uint8_t* p, const uint8_t* end, uint32_t server) noexcept nogil:
        """number 8, domain 4, flags 1. XA transactions (64, 128) are Python's."""
        cdef char text[64]
        cdef char* at
        if self.state != BETWEEN or end - p < 13 or p[12] & 0xC0:
            return STOP
        self.commit_us = 0
        self._announce()
        self.gtid = 2
        self.number, self.domain, self.gtid_server = little(p, 8), <uint32_t>little(p + 8, 4), server
        at = unsigned_at(text, self.domain)
        at[0] = c'-'
        at = unsigned_at(at + 1, server)
        at[0] = c'-'
        at = unsigned_at(at + 1, self.number)
        self.position.used = 0
        if put(&self.position, text, at - text) != OK:
            self.state = BETWEEN
            return STOP
        self.standalone = p[12] & 1
        if not self.standalone:
            self.state = OPEN
        return self._quote_gtid()

    cdef void _announce(self) noexcept nogil:
        self.state = ANNOUNCED
        self.row = 0
        self.start = self.offset
        self.position_number = -1
        self.ts_us = self.commit_us
        self.thread = -1

    cdef void _without_gtid(self) noexcept nogil:
        self.gtid = 0
        self.json_gtid.used = self.position.used = 0
        put(&self.json_gtid, "null", 4)
        # The file's name without its quotes: one that needed escapes would not be JSON's.
        put(&self.position, self.moment.file + 1, self.moment.file_size - 2)
        put(&self.position, ":", 1)
        put_unsigned(&self.position, self.start)

    cdef Done _query(self, const uint8_t* p, const uint8_t* end, uint32_t timestamp, int64_t behind) noexcept nogil:
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

    cdef Done _finish(self, uint32_t timestamp, int64_t behind) noexcept nogil:
        cdef Executed* last
        cdef Executed* moved
        cdef size_t room
        if self.gtid:
            last = self.done + self.done_count - 1 if self.done_count else NULL
            if (
                last != NULL and last.last + 1 == self.number and last.domain == self.domain
                and last.server == self.gtid_server and memcmp(last.uuid, self.uuid, 16) == 0
            ):
                last.last = self.number
            else:
                if self.done_count == self.done_room:
                    room = self.done_room * 2 + 16
                    moved = <Executed*>realloc(self.done, room * sizeof(Executed))
                    if moved == NULL:
                        return STOP
                    self.done, self.done_room = moved, room
                last = self.done + self.done_count
                memcpy(last.uuid, self.uuid, 16)
                last.domain, last.server = self.domain, self.gtid_server
                last.first = last.last = self.number
                self.done_count += 1
            self.gtid = 0
        self.boundary = behind
        self.state = BETWEEN
        self.source_ms = self.commit_us // 1000 if self.commit_us >= 1000 else <int64_t>timestamp * 1000
        self.moved = True
        self.whole = self.arena.count
        self.rows += self.new_rows
        self.size += self.new_size
        self.new_rows = self.new_size = 0
        self.transactions += 1
        return NEXT

    # Rows

    cdef Known* _find(self, uint64_t table_id) noexcept nogil:
        """NULL: not known to Python either."""
        cdef Known* known = self.known + (table_id & (TABLES - 1))
        if known.raw != NULL and known.id == table_id:
            return known
        return known if self._ask(known, table_id) else NULL

    cdef bint _ask(self, Known* known, uint64_t table_id) noexcept with gil:
        cdef bytes raw
        try:
            version = self.ids.get(table_id)
            if version is None:
                return False
            raw = version.raw
            self.held.append((version, raw))
            memset(known, 0, sizeof(Known))
            known.id, known.raw, known.size = table_id, PyBytes_AS_STRING(raw), PyBytes_GET_SIZE(raw)
            known.version = <void*>version
            known.replicated = version.plan is not None
            late = version.late
            if late is not None:
                program = self.late_of(late)
                if type(program) is not LateProgram:
                    memset(known, 0, sizeof(Known))
                    return False
                self.held.append(program)
                known.late = <void*>program
            return True
        except Exception:
            return False

    cdef bint _ask_program(self, Known* known, int operation) noexcept with gil:
        """Whether the version's function is a program, and nobody else runs it at this moment."""
        cdef Program program
        try:
            function = (<object>known.version).functions[operation]
            if type(function) is not Program:
                return False
            program = function
            if program.busy and not any([taken is program for taken in self.taken]):
                return False
            known.topics[operation] = self.arena.topic_id(program.topic)
            program.busy = True
            self.taken.append(program)
            known.programs[operation] = <void*>program
            return True
        except Exception:
            return False

    cdef Done _table_map(self, const uint8_t* p, const uint8_t* end) noexcept nogil:
        cdef Known* known
        if end - p < 8:
            return STOP
        known = self._find(little(p, 6))
        if known == NULL or known.size != end - p - 6 or memcmp(known.raw, p + 6, known.size) != 0:
            return STOP
        return NEXT

    cdef Done _rows(
        self, const uint8_t* p, const uint8_t* end, uint32_t timestamp, uint32_t server, int operation, int version
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
        known = self._find(little(p, 6))
        if known == NULL:
            return STOP
        if not known.replicated:
            return NEXT
        program = known.programs[operation]
        if program == NULL:
            if not self._ask_program(known, operation):
                return STOP
            program = known.programs[operation]
        if known.late != NULL:
            self.waits = known.late
        return self._run(program, known.topics[operation], rows, end, timestamp, server)

    cdef Done _run(
        self, void* program, uint32_t topic, const uint8_t* p, const uint8_t* end, uint32_t timestamp, uint32_t server
    ) noexcept nogil:
        cdef size_t count = self.arena.count
        cdef size_t used = self.arena.bytes.used
        cdef int64_t row
        cdef int64_t first = self.row
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
        row = run_program(
            program, self.arena, p, end, first, &self.moment, topic, <uint32_t>self.position_number, &size
        )
        if row < 0:
            self.arena.count = count
            self.arena.bytes.used = used
            return STOP
        self.row = row
        self.new_rows += row - first
        self.new_size += size
        if self.waits != NULL and self.new_size + 250 * self.new_rows > self.most_held:
            self.full = True
        return NEXT

    # What is known at the end of a transaction

    cdef Done _complete(self, uint64_t xid, uint32_t server, int64_t behind) noexcept nogil:
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
    size[0] = program.written
    return behind


# The programs of a run are held by a list and known by their addresses: a reference would need the interpreter.
ctypedef int64_t (*RunProgram)(
    void*, Arena, const uint8_t*, const uint8_t*, int64_t, Moment*, uint32_t, uint32_t, int64_t*
) noexcept nogil

cdef RunProgram run_program = <RunProgram><void*>_run_program
