"""Stores records consecutively in one block of memory, with a table of their offsets.

It replaces the list of `model.batch.Record` of the Python decoder: it accepts and returns tuples, and can be truncated.
Its contents do not move after they have been handed out as `PackedRecords`.
"""

from libc.stdlib cimport free, realloc
from libc.string cimport memchr, memcmp, memcpy, memmove
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE

from replicator.compiled.headers cimport headers_of, packed_headers
from replicator.compiled.out cimport DECLINED, NO_MEMORY, OK, put, reserve, shrink, signed_at

cdef extern from *:
    """
    /* GNU's; not everywhere. */
    static inline void* replicator_memrchr(const void* s, int c, size_t n) {
        const unsigned char* p = (const unsigned char*)s + n;
        while (n--) if (*--p == (unsigned char)c) return (void*)p;
        return 0;
    }
    """
    void* memrchr "replicator_memrchr"(const void* s, int c, size_t n) nogil

cdef extern from *:
    """
    #ifndef REPLICATOR_SOURCES
    #define REPLICATOR_SOURCES ""
    #endif
    """
    const char* REPLICATOR_SOURCES

from replicator.model.packed_records import PackedRecords

ABI = 14
SOURCES = (<bytes>REPLICATOR_SOURCES).decode()  # what they were built from: SHA-256 of all of them


cdef class Arena:
    """Not thread-safe while it grows; read from any thread afterwards.

    Args:
        expected: bytes to make room for at once, and an eighth more: the last arena had as many, and moving is dear.
    """

    def __cinit__(self, size_t expected=0):
        self.topics = []
        self._topic_ids = {}
        if expected:
            expected += expected // 8
            self.bytes.base = <char*>realloc(NULL, expected)
            if self.bytes.base != NULL:
                self.bytes.room = expected

    def __dealloc__(self):
        free(self.bytes.base)
        free(self.entries)
        free(self.positions.base)
        free(self.position_ends)

    def __len__(self):
        return self.count

    def finished(self):
        """Nothing more comes: gives unused memory back."""
        shrink(&self.bytes)

    @property
    def size(self):
        """Bytes of the records."""
        return self.bytes.used

    def append(self, record):
        """Takes a `model.batch.Record`."""
        self(record)

    def __call__(self, record):
        cdef Entry* entry
        cdef tuple fields = record
        cdef uint32_t topic = self.topic_id(fields[0])
        cdef bytes where = fields[3]
        cdef int64_t position = self.position_id(PyBytes_AS_STRING(where), PyBytes_GET_SIZE(where))
        cdef int64_t row = fields[4]
        cdef bytes packed = packed_headers(fields[5])
        cdef uint32_t header_count = len(fields[5])
        entry = self.entry()
        if entry == NULL or position < 0:
            raise MemoryError
        entry.topic, entry.position, entry.row, entry.header_count = topic, <uint32_t>position, row, header_count
        entry.key = self._take(fields[1])
        entry.value = self._take(fields[2])
        entry.route = self._take(fields[6]) if len(fields) > 6 else -1
        entry.headers = self._take(packed)
        self.count += 1

    cdef int64_t _take(self, bytes text) except -2:
        if text is None:
            return -1
        if put(&self.bytes, PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text)) != OK:
            raise MemoryError
        return PyBytes_GET_SIZE(text)

    cdef Entry* entry(self) noexcept nogil:
        """Room for one more; it counts once `count` is raised. NULL when there is no memory."""
        cdef size_t room
        cdef Entry* moved
        cdef Entry* entry
        if self.count == self.room:
            room = self.room * 2 if self.room else 64
            moved = <Entry*>realloc(self.entries, room * sizeof(Entry))
            if moved == NULL:
                return NULL
            self.entries, self.room = moved, room
        entry = self.entries + self.count
        entry.at = self.bytes.used
        entry.route = -1
        entry.headers = 0
        entry.header_count = 0
        return entry

    cdef uint32_t topic_id(self, str name) except? 0xFFFFFFFF:
        found = self._topic_ids.get(name)
        if found is None:
            found = self._topic_ids[name] = len(self.topics)
            self.topics.append(name)
        return found

    cdef int64_t position_id(self, const char* text, size_t size) noexcept nogil:
        """The number of a position, which is mostly the last one's. -1 when there is no memory."""
        cdef size_t start, room
        cdef size_t* moved
        if self.position_count:
            start = self.position_ends[self.position_count - 2] if self.position_count > 1 else 0
            if self.positions.used - start == size and memcmp(self.positions.base + start, text, size) == 0:
                return self.position_count - 1
        if self.position_count == self.position_room:
            room = self.position_room * 2 if self.position_room else 64
            moved = <size_t*>realloc(self.position_ends, room * sizeof(size_t))
            if moved == NULL:
                return -1
            self.position_ends, self.position_room = moved, room
        if put(&self.positions, text, size) != OK:
            return -1
        self.position_ends[self.position_count] = self.positions.used
        self.position_count += 1
        return self.position_count - 1

    cdef bytes position(self, uint32_t index):
        cdef size_t start = self.position_ends[index - 1] if index else 0
        return PyBytes_FromStringAndSize(self.positions.base + start, self.position_ends[index] - start)

    # What is known at the end of a transaction

    cdef int complete_by(self, size_t first, DeferredPieces* row, DeferredPieces* last) noexcept nogil:
        """Puts a text in the place of each NUL byte in keys and values from a record on: `last` for the last row that
        has such a place, `row` for the others. Otherwise than with OK nothing has changed: DECLINED for an empty text."""
        cdef size_t index, growth, place
        cdef int64_t last_row = -1
        cdef Entry* entry
        if _deferred_size(row, 0) == 0 or _deferred_size(last, 0) == 0:
            return DECLINED
        growth = 0
        index = self.count
        while index > first:
            index -= 1
            entry = self.entries + index
            growth += self._growth(entry, row, last, &last_row)
        if growth == 0 and last_row < 0:
            return OK
        if reserve(&self.bytes, growth) != OK:
            return NO_MEMORY
        place = self.bytes.used + growth
        self.bytes.used = place
        index = self.count
        while index > first:
            index -= 1
            entry = self.entries + index
            place = self._spread(entry, row, last, last_row, place)
        return OK

    cdef size_t _growth(self, Entry* entry, DeferredPieces* row, DeferredPieces* last, int64_t* last_row) noexcept nogil:
        cdef const char* at = self.bytes.base + entry.at
        cdef size_t size = (entry.key if entry.key > 0 else 0) + (entry.value if entry.value > 0 else 0)
        cdef const char* end = at + size
        cdef size_t growth = 0
        at = <const char*>memchr(at, 0, size)
        while at != NULL:
            if last_row[0] < 0:
                last_row[0] = entry.row
            growth += _deferred_size(last if entry.row == last_row[0] else row, entry.row) - 1
            at += 1
            at = <const char*>memchr(at, 0, end - at)
        return growth

    cdef size_t _spread(
        self, Entry* entry, DeferredPieces* row, DeferredPieces* last, int64_t last_row, size_t place
    ) noexcept nogil:
        """Moves a record so that it ends at `place`, its deferred texts put in. Returns where it begins then."""
        cdef char* base = self.bytes.base
        cdef DeferredPieces* text = last if entry.row == last_row else row
        cdef size_t route = entry.route if entry.route > 0 else 0
        cdef size_t size = _deferred_size(text, entry.row)
        place = _moved(base, place, entry.at + (entry.key if entry.key > 0 else 0)
                       + (entry.value if entry.value > 0 else 0), route + entry.headers)
        if entry.value > 0:
            place = self._spread_part(
                entry.at + (entry.key if entry.key > 0 else 0), &entry.value, text, entry.row, size, place
            )
        if entry.key > 0:
            place = self._spread_part(entry.at, &entry.key, text, entry.row, size, place)
        entry.at = place
        return place

    cdef size_t _spread_part(
        self, size_t start, int64_t* length, DeferredPieces* text, int64_t row, size_t size, size_t place
    ) noexcept nogil:
        cdef char* base = self.bytes.base
        cdef size_t end = start + <size_t>length[0]
        cdef size_t marks = 0
        cdef size_t after = end
        cdef char* at
        at = <char*>memchr(base + start, 0, end - start)
        while at != NULL:
            if memchr(at + 1, 0, base + after - at - 1) != NULL:  # several: from the last one on
                at = <char*>memrchr(at, 0, base + after - at)
            place = _moved(base, place, (at - base) + 1, after - (at - base) - 1)
            place -= size
            _write_deferred(base + place, text, row)
            after = at - base
            marks += 1
            at = <char*>memchr(base + start, 0, after - start)
        place = _moved(base, place, start, after - start)
        length[0] += <int64_t>(marks * size) - <int64_t>marks
        return place

    cdef size_t size_from(self, size_t first) noexcept nogil:
        """Bytes of keys and values."""
        cdef size_t size = 0
        cdef size_t index
        for index in range(first, self.count):
            size += self.entries[index].key if self.entries[index].key > 0 else 0
            size += self.entries[index].value if self.entries[index].value > 0 else 0
        return size

    def complete(self, size_t first, row, last):
        """As `complete_by`; `row`, `last`: (pieces of text, numbers to add to the row's between them). Returns the bytes
        of keys and values from there on, or -1 when the twin has to do it."""
        cdef DeferredPieces texts[2]
        cdef int index
        for index, (pieces, add) in enumerate((row, last)):
            if not 1 <= len(pieces) <= MOST_PIECES or len(add) != len(pieces) - 1:
                return -1
            texts[index].count = len(pieces)
            for number, piece in enumerate(pieces):
                texts[index].pieces[<int>number] = PyBytes_AS_STRING(piece)
                texts[index].sizes[<int>number] = len(piece)
                texts[index].add[<int>number] = add[number] if number < len(add) else 0
        return -1 if self.complete_by(first, &texts[0], &texts[1]) != OK else self.size_from(first)

    def extend(self, Arena other, size_t first, size_t last):
        """Takes records of another arena."""
        cdef size_t index, size
        cdef Entry* source
        cdef Entry* entry
        for index in range(first, last):
            source = other.entries + index
            topic = self.topic_id(other.topics[source.topic])
            where = other.position(source.position)
            position = self.position_id(PyBytes_AS_STRING(where), PyBytes_GET_SIZE(where))
            size = (
                (source.key if source.key > 0 else 0) + (source.value if source.value > 0 else 0)
                + (source.route if source.route > 0 else 0) + source.headers
            )
            entry = self.entry()
            if entry == NULL or position < 0 or put(&self.bytes, other.bytes.base + source.at, size) != OK:
                raise MemoryError
            at = entry.at
            entry[0] = source[0]
            entry.at, entry.topic, entry.position = at, topic, position
            self.count += 1

    def record(self, size_t index):
        """The record as a tuple."""
        if index >= self.count:
            raise IndexError(index)
        return self.tuple_of(index)

    def without_value(self, size_t index):
        """The same without its value, route and headers: for a record whose value may be given back already."""
        if index >= self.count:
            raise IndexError(index)
        cdef Entry* entry = self.entries + index
        key = PyBytes_FromStringAndSize(self.bytes.base + entry.at, entry.key) if entry.key >= 0 else None
        return (self.topics[entry.topic], key, None, self.position(entry.position), entry.row, ())

    cdef tuple tuple_of(self, size_t index):
        cdef Entry* entry = self.entries + index
        cdef const char* at = self.bytes.base + entry.at
        key = value = route = None
        if entry.key >= 0:
            key = PyBytes_FromStringAndSize(at, entry.key)
            at += entry.key
        if entry.value >= 0:
            value = PyBytes_FromStringAndSize(at, entry.value)
            at += entry.value
        if entry.route >= 0:
            route = PyBytes_FromStringAndSize(at, entry.route)
            at += entry.route
        headers = headers_of(at, entry.header_count) if entry.header_count else ()
        topic, position = self.topics[entry.topic], self.position(entry.position)
        if route is None:
            return (topic, key, value, position, entry.row, headers)
        return (topic, key, value, position, entry.row, headers, route)

    def keys(self):
        """[(topic, keys of its records)], for records that have no null key."""
        cdef size_t index
        cdef Entry* entry
        cdef list found = [[] for _ in self.topics]
        for index in range(self.count):
            entry = self.entries + index
            (<list>found[entry.topic]).append(PyBytes_FromStringAndSize(self.bytes.base + entry.at, entry.key))
        return [pair for pair in zip(self.topics, found) if pair[1]]

    # What a list of records can do, as far as it is asked

    def __getitem__(self, index):
        if isinstance(index, slice):
            first, last, _ = index.indices(self.count)
            return PackedRecords(((self, first, max(first, last)),))
        return self.record(index if index >= 0 else index + self.count)

    def __delitem__(self, index):
        """Only of everything from a record on."""
        first, last, step = index.indices(self.count)
        if last != self.count or step != 1:
            raise IndexError("records are only cut off at the end")
        if first < self.count:
            self.bytes.used = self.entries[first].at
            self.count = first

    def __iadd__(self, records):
        for record in records:
            self(record)
        return self

    def __setitem__(self, index, records):
        """Everything from a record on, by others. They may be those that stand there."""
        kept = list(records)
        del self[index]
        for record in kept:
            self(record)


cdef size_t _moved(char* base, size_t place, size_t start, size_t size) noexcept nogil:
    """Moves bytes so that they end at `place`; returns where they begin."""
    place -= size
    memmove(base + place, base + start, size)
    return place


cdef size_t _deferred_size(DeferredPieces* text, int64_t row) noexcept nogil:
    cdef char digits[24]
    cdef size_t size = 0
    cdef int index
    for index in range(text.count):
        size += text.sizes[index]
        if index + 1 < text.count:
            size += signed_at(digits, row + text.add[index]) - digits
    return size


cdef void _write_deferred(char* o, DeferredPieces* text, int64_t row) noexcept nogil:
    """What stands behind its place is not touched."""
    cdef char digits[24]
    cdef size_t size
    cdef int index
    for index in range(text.count):
        memcpy(o, text.pieces[index], text.sizes[index])
        o += text.sizes[index]
        if index + 1 < text.count:
            size = signed_at(digits, row + text.add[index]) - digits
            memcpy(o, digits, size)
            o += size
