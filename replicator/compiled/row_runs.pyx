"""Joins the row images of records in arenas that follow each other and are of one table version and operation.

The twins: `sink/mysql/row_runs.py`, `sink/mysql/row_sections.py`.
"""

from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memcpy
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize

from replicator.compiled.arena cimport Arena, Entry
from replicator.compiled.image_records cimport Image, row_at, value_at
from replicator.compiled.pages cimport LARGE, trim_heap

ABI = 14


def runs(blocks, str statement, size_t most):
    """[(topic, operation, records, images)]: see `sink/mysql/row_runs.py`. `blocks`: of a `PackedRecords`; `statement`: topic
    of records that are no rows."""
    cdef Arena arena
    cdef size_t first, last, index, begin
    cdef size_t size = 0
    cdef uint32_t number
    cdef int kind = 0
    cdef Image row
    cdef str topic = ""
    cdef list found = []
    cdef list pieces = []  # of the run at hand: (arena, first record, behind the last one)
    for arena, first, last in blocks:
        index = first
        while index < last:
            begin = index
            number = arena.entries[index].topic
            row = row_at(arena, index)
            if pieces and (
                kind == 0 or row.kind != kind or size + row.size > most or arena.topics[number] != topic
            ):
                found.append(_joined(topic, pieces, size))
                pieces = []
            if not pieces:
                size, topic = 0, arena.topics[number]
                kind = 0 if topic == statement else row.kind
            if kind == 0:
                found.append((topic, b"", 1, _value(arena, index)))
                index += 1
                continue
            while row.kind == kind and arena.entries[index].topic == number:
                size += row.size
                index += 1
                if index == last:
                    break
                row = row_at(arena, index)
                if size + row.size > most:
                    break
            pieces.append((arena, begin, index))
    if pieces:
        found.append(_joined(topic, pieces, size))
    return found


cdef class Counts:
    """Of the records of one topic in a section."""

    cdef str topic
    cdef size_t runs, updates, size

    def __cinit__(self, str topic):
        self.topic = topic


cdef class Section:
    """The one at hand."""

    cdef list pieces  # of an arena each: (arena, first record, behind the last one)
    cdef dict tables
    cdef int mark
    cdef size_t size

    def __cinit__(self):
        self.pieces, self.tables, self.mark, self.size = [], {}, -1, 0

    cdef tuple taken(self):
        mark = None if self.mark < 0 else b"F" if self.mark else b""
        cdef list tables = []
        cdef Counts counts
        if self.mark >= 0:
            for counts in self.tables.values():
                tables.append((counts.topic, counts.runs, counts.updates, counts.size))
        return tuple(self.pieces), mark, tuple(tables)


def sections(blocks, str statement, size_t most):
    """[(blocks, mark, [(topic, runs, updates, size)])]: see `sink/mysql/row_sections.py`."""
    cdef Arena arena
    cdef size_t first, last, index, begin
    cdef int64_t number
    cdef int mark
    cdef int kind = 0  # of the record before it in the section; 0: it is the first one
    cdef bint other = False  # what a topic has is no row
    cdef Image row
    cdef str topic = None
    cdef Counts counts = None
    cdef Section section = Section()
    cdef list found = []
    for arena, first, last in blocks:
        begin, number = first, -1
        for index in range(first, last):
            row = row_at(arena, index)
            if number != arena.entries[index].topic:
                number = arena.entries[index].topic
                if topic != arena.topics[number]:
                    topic, counts = arena.topics[number], None
                    other = topic == statement
            mark = -1 if other or row.kind == 0 or row.kind & 0xFF == c'R' else row.head - 1
            if (section.pieces or index > begin) and (
                mark != section.mark or mark >= 0 and section.size + row.size > most
            ):
                if index > begin:
                    section.pieces.append((arena, begin, index))
                found.append(section.taken())
                section, begin, counts = Section(), index, None
            section.mark = mark
            if mark < 0:
                continue
            if counts is None:
                kind, counts = 0, section.tables.get(topic)
                if counts is None:
                    counts = section.tables[topic] = Counts(topic)
            if row.kind != kind:
                kind = row.kind
                counts.runs += 1
                counts.updates += kind & 0xFF == c'U'
            counts.size += row.size
            section.size += row.size
        if last > begin:
            section.pieces.append((arena, begin, last))
    if section.pieces:
        found.append(section.taken())
    return found


cdef _joined(str topic, list pieces, size_t size):
    if size > LARGE:
        trim_heap()
    cdef bytes images = PyBytes_FromStringAndSize(NULL, size)
    cdef char* out = PyBytes_AS_STRING(images)
    cdef Arena arena
    cdef size_t first, behind, index
    cdef size_t records = 0
    cdef Image row
    for arena, first, behind in pieces:
        with nogil:
            for index in range(first, behind):
                row = row_at(arena, index)
                memcpy(out, row.at, row.size)
                out += row.size
        records += behind - first
    arena, first, _ = pieces[0]
    row = row_at(arena, first)
    return topic, PyBytes_FromStringAndSize(<char*>value_at(arena, first), row.head), records, images


cdef object _value(Arena arena, size_t index):
    cdef Entry* entry = arena.entries + index
    return b"" if entry.value < 0 else PyBytes_FromStringAndSize(<char*>value_at(arena, index), entry.value)
