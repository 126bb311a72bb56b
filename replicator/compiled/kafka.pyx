"""Encodes records of arenas as bodies of Kafka record batches (format v2), sorted by partition.

This is `sink/kafka/records.py` in one pass. 61 bytes are reserved before each body for the batch header: the producer
writes it in place (`kafka/batch.py`), and the batch is sent from this memory.
"""

from functools import partial

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy
from cpython.buffer cimport PyBuffer_FillInfo
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE

from replicator.compiled.arena cimport Arena, Entry
from replicator.compiled.out cimport NO_MEMORY, OK, Out, put, reserve, shrink, unsigned_at
from replicator.compiled.pages cimport LARGE, release_pages
from replicator.compiled.varints cimport varint_at, varint_size

ABI = 14

cdef enum:
    HEAD = 61  # the bytes of a batch's header
    RECORD_OVERHEAD = 40  # `records._RECORD_OVERHEAD`
    OWN_HEADERS = 4  # task, epoch, position, row
    TOO_LARGE = -5


cdef uint32_t murmur2(const uint8_t* p, size_t size) noexcept nogil:
    """With the Java client's seed."""
    cdef uint32_t m = 0x5BD1E995
    cdef uint32_t hashed = <uint32_t>0x9747B28CU ^ <uint32_t>size
    cdef uint32_t word
    while size >= 4:
        memcpy(&word, p, 4)
        word *= m
        word ^= word >> 24
        word *= m
        hashed = hashed * m ^ word
        p += 4
        size -= 4
    if size:
        if size == 3:
            hashed ^= <uint32_t>p[2] << 16
        if size >= 2:
            hashed ^= <uint32_t>p[1] << 8
        hashed = (hashed ^ p[0]) * m
    hashed ^= hashed >> 13
    hashed *= m
    return hashed ^ hashed >> 15


def murmur2_of(bytes data):
    """For comparison with `model/partitioner.py`."""
    return murmur2(<const uint8_t*>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))


cdef inline size_t count_size(uint64_t count) noexcept nogil:
    return varint_size(count << 1)


cdef inline char* count_at(char* o, uint64_t count) noexcept nogil:
    """A length or a number of things, which is not negative: zigzag."""
    return varint_at(o, count << 1)


cdef class Body:
    """A batch: room for its header, then `count` records. A buffer, writable; where there is a `value`, that comes behind
    its first `head` bytes.

    Attributes:
        record: gives the only record, without its value where that is apart; None where there are several.
        value: of the only record, in the memory of its arena: it is too long for a copy. None: the buffer is all.
    """

    cdef char* base
    cdef readonly Py_ssize_t size
    cdef readonly Py_ssize_t head
    cdef readonly int count
    cdef readonly object record
    cdef readonly LongValue value

    def __dealloc__(self):
        free(self.base)

    def __len__(self):
        return self.size

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        PyBuffer_FillInfo(buffer, self, self.base, self.size, False, flags)


cdef class LongValue:
    """The value of a record where its arena has it. A buffer."""

    cdef Arena arena
    cdef char* base
    cdef readonly Py_ssize_t size

    def __len__(self):
        return self.size

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        PyBuffer_FillInfo(buffer, self, self.base, self.size, True, flags)

    def release(self, Py_ssize_t end):
        """What is before that place is not read again: its memory is given back. The record has no value from then on."""
        if 0 < end <= self.size:
            release_pages(self.base, end)


ctypedef struct Lane:
    # What becomes the batches of one partition, one batch at a time.
    Out body
    int count
    size_t first  # number of its first record
    size_t head  # of an only record with a long value: the bytes before that, which is not copied; 0: all are here
    int next  # the first of its closed batches, -1: none
    int last

ctypedef struct Closed:
    char* base
    size_t size
    int count
    size_t first
    size_t head
    int next

ctypedef struct Topic:
    Lane* lanes
    int partitions
    int keyless
    size_t target
    size_t most


cdef class Batches:
    """Makes batches of the records of one write.

    Args:
        stamp: the headers `task` and `epoch` and the name of `position`, as they stand in a record.
    """

    cdef Topic* topics
    cdef int topic_count
    cdef Closed* closed
    cdef int closed_count
    cdef int closed_room
    cdef bytes stamp
    cdef const char* stamp_at
    cdef size_t stamp_size
    cdef Out block
    cdef int64_t block_position
    cdef size_t expected  # bytes of a write's records, with what comes to them
    cdef list order
    cdef dict numbers

    def __cinit__(self, bytes stamp):
        self.stamp = stamp
        self.stamp_at, self.stamp_size = PyBytes_AS_STRING(stamp), PyBytes_GET_SIZE(stamp)
        self.order = []
        self.numbers = {}

    def __dealloc__(self):
        cdef int topic, lane
        for topic in range(self.topic_count):
            for lane in range(self.topics[topic].partitions):
                free(self.topics[topic].lanes[lane].body.base)
            free(self.topics[topic].lanes)
        for lane in range(self.closed_count):
            free(self.closed[lane].base)
        free(self.topics)
        free(self.closed)
        free(self.block.base)

    def names(self, blocks):
        """Topics of the records, in the order in which they first come."""
        cdef Arena arena
        cdef size_t index, first, last
        cdef uint32_t topic
        cdef bytearray seen
        cdef int64_t previous
        for arena, first, last in blocks:
            previous = -1
            seen = bytearray(len(arena.topics))
            for index in range(first, last):
                topic = arena.entries[index].topic
                if <int64_t>topic != previous:
                    previous = topic
                    if not seen[topic]:
                        seen[topic] = 1
                        name = arena.topics[topic]
                        if name not in self.numbers:
                            self.numbers[name] = len(self.order)
                            self.order.append(name)
        return self.order

    def encode(self, blocks, topics):
        """
        Args:
            topics: for each of `names`: (partitions, partition of records without a key, bytes at which a batch is
                closed, bytes that a record may have).

        Returns [(topic's number, partition, Body)] by topic and partition, each in order; None when a record is too
        large or memory is short: then the twin says so.
        """
        cdef Arena arena
        cdef size_t first, last
        cdef int* numbers
        cdef int status = OK
        cdef size_t base = 0
        self._open(topics)
        self._expect(blocks)
        for arena, first, last in blocks:
            numbers = <int*>malloc((len(arena.topics) + 1) * sizeof(int))
            if numbers == NULL:
                return None
            for index, name in enumerate(arena.topics):
                numbers[<int>index] = self.numbers.get(name, -1)
            self.block_position = -1
            with nogil:
                status = self._block(arena, first, last, numbers, base)
            free(numbers)
            if status != OK:
                return None
            base += last - first
        return self._finished(blocks)

    cdef _expect(self, blocks):
        cdef Arena arena
        cdef size_t first, last
        self.expected = 0
        for arena, first, last in blocks:
            if first < last:
                self.expected += (
                    (arena.entries[last].at if last < arena.count else arena.bytes.used) - arena.entries[first].at
                    + (last - first) * (RECORD_OVERHEAD + self.stamp_size + 64)
                )

    cdef _open(self, topics):
        cdef Topic* topic
        cdef int lane
        self.topics = <Topic*>calloc(len(topics) + 1, sizeof(Topic))
        if self.topics == NULL:
            raise MemoryError
        for partitions, keyless, target, most in topics:
            topic = self.topics + self.topic_count
            topic.lanes = <Lane*>calloc(partitions, sizeof(Lane))
            if topic.lanes == NULL:
                raise MemoryError
            topic.partitions, topic.keyless, topic.target, topic.most = partitions, keyless, target, most
            for lane in range(partitions):
                topic.lanes[lane].next = topic.lanes[lane].last = -1
            self.topic_count += 1

    cdef _finished(self, blocks):
        cdef Topic* topic
        cdef int number, lane, at
        cdef Closed* closed
        cdef Body body
        found = []
        for number in range(self.topic_count):
            topic = self.topics + number
            for lane in range(topic.partitions):
                if topic.lanes[lane].count and self._close(topic.lanes + lane) != OK:
                    return None
                at = topic.lanes[lane].next
                while at >= 0:
                    closed = self.closed + at
                    body = Body.__new__(Body)
                    body.base, closed.base = closed.base, NULL
                    body.size, body.count = closed.size, closed.count
                    if closed.count == 1:
                        arena, index = _located(blocks, closed.first)
                        body.record = partial(arena.without_value if closed.head else arena.record, index)
                    if closed.head:
                        body.head, body.value = closed.head, _long_value(arena, index)
                    found.append((number, lane, body))
                    at = closed.next
        return found

    cdef int _close(self, Lane* lane) noexcept nogil:
        cdef int room
        cdef Closed* moved
        cdef Closed* closed
        if self.closed_count == self.closed_room:
            room = self.closed_room * 2 + 16
            moved = <Closed*>calloc(room, sizeof(Closed))
            if moved == NULL:
                return NO_MEMORY
            if self.closed_count:
                memcpy(moved, self.closed, self.closed_count * sizeof(Closed))
            free(self.closed)
            self.closed, self.closed_room = moved, room
        closed = self.closed + self.closed_count
        shrink(&lane.body)
        closed.base, closed.size, closed.count = lane.body.base, lane.body.used, lane.count
        closed.first, closed.head, closed.next = lane.first, lane.head, -1
        if lane.last >= 0:
            self.closed[lane.last].next = self.closed_count
        else:
            lane.next = self.closed_count
        lane.last = self.closed_count
        self.closed_count += 1
        lane.body.base = NULL
        lane.body.used = lane.body.room = 0
        lane.count = 0
        lane.head = 0
        return OK

    cdef int _block(self, Arena arena, size_t first, size_t last, int* numbers, size_t base) noexcept nogil:
        cdef Entry* entry
        cdef Topic* topic
        cdef size_t index
        cdef int lane, status
        cdef const char* key
        for index in range(first, last):
            entry = arena.entries + index
            topic = self.topics + numbers[entry.topic]
            if <int64_t>entry.position != self.block_position and self._stamp(arena, entry.position) != OK:
                return NO_MEMORY
            key = arena.bytes.base + entry.at
            if topic.partitions == 1:
                lane = 0
            elif entry.route >= 0:
                key += (entry.key if entry.key > 0 else 0) + (entry.value if entry.value > 0 else 0)
                lane = (murmur2(<const uint8_t*>key, entry.route) & 0x7FFFFFFF) % topic.partitions
            elif entry.key < 0:
                lane = topic.keyless
            else:
                lane = (murmur2(<const uint8_t*>key, entry.key) & 0x7FFFFFFF) % topic.partitions
            status = self._append(topic, topic.lanes + lane, arena, entry, base + index - first)
            if status != OK:
                return status
        return OK

    cdef int _stamp(self, Arena arena, uint32_t position) noexcept nogil:
        """The headers of ours but for the number of the row."""
        cdef size_t start = arena.position_ends[position - 1] if position else 0
        cdef size_t size = arena.position_ends[position] - start
        cdef char length[10]
        cdef char* behind = count_at(length, size)
        self.block.used = 0
        self.block_position = position
        if (
            put(&self.block, self.stamp_at, self.stamp_size) != OK
            or put(&self.block, length, behind - length) != OK
            or put(&self.block, arena.positions.base + start, size) != OK
        ):
            return NO_MEMORY
        return put(&self.block, b"\x06row", 4)

    cdef int _append(self, Topic* topic, Lane* lane, Arena arena, Entry* entry, size_t number) noexcept nogil:
        cdef size_t key = entry.key if entry.key > 0 else 0
        cdef size_t value = entry.value if entry.value > 0 else 0
        cdef size_t route = entry.route if entry.route > 0 else 0
        cdef size_t own = count_size(OWN_HEADERS + entry.header_count) + entry.headers
        cdef size_t room = RECORD_OVERHEAD + self.block.used + key + value
        cdef char digits[24]
        cdef size_t digit_count = unsigned_at(digits, <uint64_t>entry.row) - digits
        cdef size_t length, wanted
        cdef const char* source = arena.bytes.base + entry.at
        cdef char* o
        cdef bint is_long = value > LARGE
        if lane.count and (lane.body.used - HEAD + room + own > topic.target or is_long) and self._close(lane) != OK:
            return NO_MEMORY
        if lane.count == 0:
            lane.first = number
            # Its part of the write and an eighth more, as partitions differ; what is not used is given back.
            wanted = self.expected // <size_t>(topic.partitions * self.topic_count)
            wanted += wanted // 8 + 4096
            if wanted > topic.target:
                wanted = topic.target
            if is_long:
                wanted = 4096
            if reserve(&lane.body, HEAD + wanted) != OK:
                return NO_MEMORY
            lane.body.used = HEAD
        length = (
            2 + count_size(lane.count) + (1 if entry.key < 0 else count_size(key)) + key
            + (1 if entry.value < 0 else count_size(value)) + value
            + own + self.block.used + count_size(digit_count) + digit_count
        )
        if length + 5 > topic.most:
            return TOO_LARGE
        if reserve(&lane.body, length + 10 - (value if is_long else 0)) != OK:
            return NO_MEMORY
        o = count_at(lane.body.base + lane.body.used, length)
        o[0] = 0
        o[1] = 0
        o = count_at(o + 2, lane.count)
        if entry.key < 0:
            o[0] = 1
            o += 1
        else:
            o = count_at(o, key)
            memcpy(o, source, key)
            o += key
        if entry.value < 0:
            o[0] = 1
            o += 1
        else:
            o = count_at(o, value)
            if is_long:
                lane.head = o - lane.body.base
            else:
                memcpy(o, source + key, value)
                o += value
        o = count_at(o, OWN_HEADERS + entry.header_count)
        memcpy(o, source + key + value + route, entry.headers)
        o += entry.headers
        memcpy(o, self.block.base, self.block.used)
        o = count_at(o + self.block.used, digit_count)
        memcpy(o, digits, digit_count)
        lane.body.used = o + digit_count - lane.body.base
        lane.count += 1
        return self._close(lane) if is_long else OK


cdef tuple _located(blocks, size_t number):
    for arena, first, last in blocks:
        if number < last - first:
            return arena, first + number
        number -= last - first
    raise IndexError(number)


cdef LongValue _long_value(Arena arena, size_t index):
    cdef Entry* entry = arena.entries + index
    cdef LongValue value = LongValue.__new__(LongValue)
    value.arena = arena
    value.base = arena.bytes.base + entry.at + (entry.key if entry.key > 0 else 0)
    value.size = entry.value
    return value
