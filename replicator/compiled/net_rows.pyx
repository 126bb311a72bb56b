"""Joins the changes of each row of a table into one.

The twin, which owns every rule: `sink/mysql/net_changes.py`.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, qsort, realloc
from libc.string cimport memcmp, memcpy
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE

from replicator.compiled.arena cimport Arena
from replicator.compiled.image_records cimport Image, row_at
from replicator.compiled.out cimport NO_MEMORY, OK, Out, little, put

ABI = 14

cdef enum:
    SAME_ORDER = 1  # the changes stay as they are
    DAMAGED = 5
    MOST_KEYS = 16
    FREE = 0x7FFFFFFF  # in no part yet

ctypedef struct Row:
    # The image before all changes, and the present one; NULL: there is none.
    const uint8_t* before
    size_t before_size
    const uint8_t* after
    size_t after_size
    size_t key_at
    uint32_t key_size
    uint32_t hash
    uint32_t part

ctypedef struct Value:
    # Of a unique key in a row that is inserted or deleted.
    uint64_t hash
    size_t row


cdef int _compare(const void* one, const void* other) noexcept nogil:
    cdef uint64_t left = (<const Value*>one).hash
    cdef uint64_t right = (<const Value*>other).hash
    return (left > right) - (left < right)


cdef class Net:
    """Of one table version."""

    cdef int columns
    cdef int64_t* sizes
    cdef int* key_place  # of each column in the key, -1: none
    cdef bint* unique
    cdef int key_count
    cdef Out keys
    cdef Row* rows
    cdef size_t count, room
    cdef uint32_t* slots  # numbers of rows, counted from 1
    cdef size_t mask
    cdef const uint8_t* key_at[MOST_KEYS]
    cdef size_t key_sizes[MOST_KEYS]

    def __cinit__(self, sizes, key, unique):
        cdef int index
        self.columns, self.key_count = len(sizes), len(key)
        self.sizes = <int64_t*>malloc((self.columns + 1) * sizeof(int64_t))
        self.key_place = <int*>malloc((self.columns + 1) * sizeof(int))
        self.unique = <bint*>calloc(self.columns + 1, sizeof(bint))
        self.mask = 1023
        self.slots = <uint32_t*>calloc(self.mask + 1, sizeof(uint32_t))
        if self.sizes == NULL or self.key_place == NULL or self.unique == NULL or self.slots == NULL:
            raise MemoryError
        if not 0 < self.key_count <= MOST_KEYS:
            raise ValueError(key)
        for index in range(self.columns):
            self.sizes[index], self.key_place[index] = sizes[index], -1
        for index, column in enumerate(key):
            self.key_place[<int>column] = index
        for column in unique:
            self.unique[<int>column] = True

    def __dealloc__(self):
        free(self.sizes)
        free(self.key_place)
        free(self.unique)
        free(self.keys.base)
        free(self.rows)
        free(self.slots)

    cdef int take(self, char operation, const uint8_t* p, const uint8_t* end) noexcept nogil:
        cdef const uint8_t* behind
        cdef const uint8_t* last
        cdef int64_t old, new
        cdef size_t size
        while p < end:
            behind = self._image(p, end)
            if behind == NULL:
                return DAMAGED
            size = behind - p
            if operation == c'I':
                new = self._row()
                if new < 0:
                    return <int>-new
                if self.rows[new].after != NULL:
                    return SAME_ORDER
                self.rows[new].after, self.rows[new].after_size = p, size
                p = behind
                continue
            old = self._there(p, size)
            if old < 0:
                return <int>-old
            if operation == c'D':
                self.rows[old].after = NULL
                p = behind
                continue
            last = self._image(behind, end)
            if last == NULL:
                return DAMAGED
            new = self._row()
            if new < 0:
                return <int>-new
            if new != old:
                self.rows[old].after = NULL
                if self.rows[new].after != NULL:
                    return SAME_ORDER
            self.rows[new].after, self.rows[new].after_size = behind, last - behind
            p = last
        return OK

    cdef const uint8_t* _image(self, const uint8_t* p, const uint8_t* end) noexcept nogil:
        """The end of an image, and where its key is; NULL: it goes on behind `end`."""
        cdef const uint8_t* nulls = p
        cdef int column, place
        cdef int64_t size
        cdef int prefix
        if end - p < (self.columns + 7) >> 3:
            return NULL
        p += (self.columns + 7) >> 3
        for column in range(self.columns):
            place = self.key_place[column]
            if nulls[column >> 3] >> (column & 7) & 1:
                if place >= 0:
                    self.key_at[place] = NULL
                continue
            size = self.sizes[column]
            if size < 0:
                prefix = <int>-size
                if end - p < prefix:
                    return NULL
                size = prefix + <int64_t>little(p, prefix)
            if size > end - p:
                return NULL
            if place >= 0:
                self.key_at[place], self.key_sizes[place] = p, <size_t>size
            p += size
        return p

    cdef int64_t _there(self, const uint8_t* p, size_t size) noexcept nogil:
        """The row whose image was walked last, which must be there with these bytes; a negative status."""
        cdef size_t known = self.count
        cdef int64_t number = self._row()
        cdef Row* row
        if number < 0:
            return number
        row = self.rows + number
        if self.count > known:
            row.before, row.before_size, row.after, row.after_size = p, size, p, size
        elif row.after == NULL or row.after_size != size or memcmp(row.after, p, size) != 0:
            return -SAME_ORDER
        return number

    cdef int64_t _row(self) noexcept nogil:
        """The number of the row with the key that was found last; a new one is not there. A negative status."""
        cdef size_t start = self.keys.used
        cdef size_t slot, room
        cdef uint32_t number
        cdef uint32_t hash
        cdef Row* row
        cdef Row* moved
        cdef int place
        for place in range(self.key_count):
            if self.key_at[place] == NULL:
                return -SAME_ORDER
            if put(&self.keys, self.key_at[place], self.key_sizes[place]) != OK:
                return NO_MEMORY
        hash = _hashed(<uint8_t*>self.keys.base + start, self.keys.used - start)
        slot = hash & self.mask
        while self.slots[slot]:
            row = self.rows + (self.slots[slot] - 1)
            if (
                row.hash == hash and row.key_size == self.keys.used - start
                and memcmp(self.keys.base + row.key_at, self.keys.base + start, row.key_size) == 0
            ):
                self.keys.used = start
                return self.slots[slot] - 1
            slot = slot + 1 & self.mask
        if self.count == self.room:
            room = 2 * self.room + 512
            moved = <Row*>realloc(self.rows, room * sizeof(Row))
            if moved == NULL:
                return NO_MEMORY
            self.rows, self.room = moved, room
        row = self.rows + self.count
        row.before = row.after = NULL
        row.before_size = row.after_size = 0
        row.part = 0
        row.key_at, row.key_size, row.hash = start, <uint32_t>(self.keys.used - start), hash
        self.count += 1
        self.slots[slot] = <uint32_t>self.count
        if 2 * self.count > self.mask and self._spread() != OK:
            return NO_MEMORY
        return self.count - 1

    cdef int _spread(self) noexcept nogil:
        """Twice as many slots."""
        cdef size_t mask = 2 * self.mask + 1
        cdef uint32_t* slots = <uint32_t*>calloc(mask + 1, sizeof(uint32_t))
        cdef size_t number, slot
        if slots == NULL:
            return NO_MEMORY
        for number in range(self.count):
            slot = self.rows[number].hash & mask
            while slots[slot]:
                slot = slot + 1 & mask
            slots[slot] = <uint32_t>(number + 1)
        free(self.slots)
        self.slots, self.mask = slots, mask
        return OK

    cdef bint _differ(self, Row* row) noexcept nogil:
        """Whether an update changes a column of a unique key."""
        cdef const uint8_t* p = row.before + ((self.columns + 7) >> 3)
        cdef const uint8_t* q = row.after + ((self.columns + 7) >> 3)
        cdef size_t size, other
        cdef bint null, other_null
        cdef int column
        for column in range(self.columns):
            null = row.before[column >> 3] >> (column & 7) & 1
            other_null = row.after[column >> 3] >> (column & 7) & 1
            size = 0 if null else self._size(p, column)
            other = 0 if other_null else self._size(q, column)
            if self.unique[column] and (null != other_null or size != other or memcmp(p, q, size) != 0):
                return True
            p += size
            q += other
        return False

    cdef size_t _size(self, const uint8_t* p, int column) noexcept nogil:
        cdef int64_t size = self.sizes[column]
        return <size_t>(size if size >= 0 else -size + <int64_t>little(p, <int>-size))

    cdef bint unchanged(self, Row* row) noexcept nogil:
        if row.before == NULL or row.after == NULL:
            return row.before == row.after
        return row.before_size == row.after_size and memcmp(row.before, row.after, row.before_size) == 0

    cdef bint moves(self) noexcept nogil:
        """Whether the sum of a row's updates changes a column of a unique key."""
        cdef size_t number
        cdef Row* row
        for number in range(self.count):
            row = self.rows + number
            if row.before != NULL and row.after != NULL and not self.unchanged(row) and self._differ(row):
                return True
        return False

    cdef int divide(self, list keys, uint32_t parts) except -1:
        """Says of each row in which part it is: see `sink/mysql/division.py`."""
        cdef size_t number
        cdef uint64_t place = 0, changed = 0, kept = 0
        if parts == 1:
            return 0
        for number in range(self.count):
            self.rows[number].part = FREE
        if keys:
            self._keep_together(keys)
        for number in range(self.count):
            if not self.unchanged(self.rows + number):
                changed += 1
                kept += self.rows[number].part == 0
        for number in range(self.count):
            if self.unchanged(self.rows + number) or self.rows[number].part == 0:
                continue
            if kept * parts < changed:
                self.rows[number].part = <uint32_t>((kept + place) * parts // changed)
            else:
                self.rows[number].part = 1 + <uint32_t>(place * (parts - 1) // (changed - kept))
            place += 1
        return 0

    cdef int _keep_together(self, list keys) except -1:
        """Rows that are deleted and inserted and may have equal values of a unique key are in the first part."""
        cdef size_t number, first, last, count = 0, changed = 0
        cdef Value* values
        cdef const uint8_t** at
        cdef size_t* sizes
        cdef bint deletes, inserts
        for number in range(self.count):
            changed += not self.unchanged(self.rows + number) and _kind(self.rows + number) != c'U'
        values = <Value*>malloc((changed * len(keys) + 1) * sizeof(Value))
        at = <const uint8_t**>malloc((self.columns + 1) * sizeof(uint8_t*))
        sizes = <size_t*>malloc((self.columns + 1) * sizeof(size_t))
        try:
            if values == NULL or at == NULL or sizes == NULL:
                raise MemoryError
            for number in range(self.count):
                if self.unchanged(self.rows + number) or _kind(self.rows + number) == c'U':
                    continue
                self._walk(self.rows + number, at, sizes)
                for index, key in enumerate(keys):
                    if _hash_of(key, index, at, sizes, &values[count].hash):
                        values[count].row = number
                        count += 1
            qsort(values, count, sizeof(Value), _compare)
            first = 0
            while first < count:
                last, deletes, inserts = first, False, False
                while last < count and values[last].hash == values[first].hash:
                    if _kind(self.rows + values[last].row) == c'D':
                        deletes = True
                    else:
                        inserts = True
                    last += 1
                if deletes and inserts:
                    for number in range(first, last):
                        self.rows[values[number].row].part = 0
                first = last
        finally:
            free(values)
            free(at)
            free(sizes)
        return 0

    cdef void _walk(self, Row* row, const uint8_t** at, size_t* sizes) noexcept nogil:
        """The values of the only image of a row; NULL: its value is NULL."""
        cdef const uint8_t* image = row.after if row.before == NULL else row.before
        cdef const uint8_t* p = image + ((self.columns + 7) >> 3)
        cdef int column, prefix
        for column in range(self.columns):
            at[column], sizes[column] = NULL, 0
            if image[column >> 3] >> (column & 7) & 1:
                continue
            sizes[column] = self._size(p, column)
            prefix = <int>-self.sizes[column] if self.sizes[column] < 0 else 0
            at[column] = p + prefix
            p += sizes[column]
            sizes[column] -= prefix

    cdef int put_rows(self, char operation, uint32_t part, list found, size_t most) except -1:
        """Appends (operation, rows, images)."""
        cdef Out out
        cdef size_t number, size
        cdef int count = 0
        cdef Row* row
        out.base, out.used, out.room = NULL, 0, 0
        try:
            for number in range(self.count):
                row = self.rows + number
                if row.part != part or self.unchanged(row) or operation != _kind(row):
                    continue
                size = (row.before_size if operation != c'I' else 0) + (row.after_size if operation != c'D' else 0)
                if count and out.used + size > most:
                    found.append((bytes([operation]), count, PyBytes_FromStringAndSize(out.base, out.used)))
                    out.used, count = 0, 0
                if operation != c'I' and put(&out, row.before, row.before_size) != OK:
                    raise MemoryError
                if operation != c'D' and put(&out, row.after, row.after_size) != OK:
                    raise MemoryError
                count += 1
            if count:
                found.append((bytes([operation]), count, PyBytes_FromStringAndSize(out.base, out.used)))
        finally:
            free(out.base)
        return 0


cdef inline char _kind(Row* row) noexcept nogil:
    return c'I' if row.before == NULL else c'D' if row.after == NULL else c'U'


cdef inline uint32_t _hashed(const uint8_t* p, size_t size) noexcept nogil:
    return <uint32_t>(_hashed_long(p, size) >> 32)


cdef inline uint64_t _hashed_long(const uint8_t* p, size_t size) noexcept nogil:
    """FNV-1a of words, mixed at the end: keys are short."""
    cdef uint64_t hash = 0xCBF29CE484222325ULL
    cdef uint64_t word
    while size >= 8:
        memcpy(&word, p, 8)
        hash = (hash ^ word) * 0x9E3779B97F4A7C15ULL
        hash ^= hash >> 29
        p += 8
        size -= 8
    return (hash ^ little(p, <int>size)) * 0x9E3779B97F4A7C15ULL


cdef bint _hash_of(tuple key, uint64_t number, const uint8_t** at, size_t* sizes, uint64_t* found) except -1:
    """Of the values of a unique key; False: one of them is NULL, which equals nothing."""
    cdef uint64_t hash = number
    cdef int place, column
    for place in key:
        column = place if place >= 0 else ~place
        if at[column] == NULL:
            return False
        if place >= 0:
            hash = (hash ^ _hashed_long(at[column], sizes[column])) * 0x9E3779B97F4A7C15ULL
            hash ^= hash >> 29
    found[0] = hash
    return True


cdef int _take_records(Net made, blocks, str topic) except -1:
    """The changes of one topic. Returns a status."""
    cdef Arena arena
    cdef size_t first, last, index
    cdef int64_t number
    cdef Image row
    cdef int status = OK
    for arena, first, last in blocks:
        if topic not in arena.topics:
            continue
        number = arena.topics.index(topic)
        with nogil:
            for index in range(first, last):
                if arena.entries[index].topic == number:
                    row = row_at(arena, index)
                    status = made.take(<char>(row.kind & 0xFF), row.at, row.at + row.size)
                    if status != OK:
                        break
        if status != OK:
            break
    return status


cdef int _take_run(Net made, bytes operation, bytes images) noexcept:
    cdef const uint8_t* p = <const uint8_t*>PyBytes_AS_STRING(images)
    cdef const uint8_t* end = p + PyBytes_GET_SIZE(images)
    cdef char kind = PyBytes_AS_STRING(operation)[PyBytes_GET_SIZE(operation) - 1]
    cdef int status
    with nogil:
        status = made.take(kind, p, end)
    return status


def net(list parts, sizes, key, unique, size_t most, uint32_t count, list keys):
    """parts: (operation, images) of runs, of whose operations the last byte counts; (blocks, topic) of records that are inserts, updates
    and deletes. `count` lists of (operation, rows, images); None: they stay in their order."""
    cdef Net made = Net(sizes, key, unique)
    cdef int status
    cdef bint moves
    cdef uint32_t part
    cdef list found
    cdef list divided = []
    for one, other in parts:
        status = _take_run(made, one, other) if type(one) is bytes else _take_records(made, one, other)
        if status == SAME_ORDER:
            return None
        if status == DAMAGED:
            raise ValueError("an image beyond the end of its run")
        if status != OK:
            raise MemoryError
    with nogil:
        moves = made.moves()
    if moves:
        return None
    made.divide(keys, count)
    for part in range(count):
        found = []
        made.put_rows(c'D', part, found, most)
        made.put_rows(c'U', part, found, most)
        made.put_rows(c'I', part, found, most)
        divided.append(found)
    return divided
