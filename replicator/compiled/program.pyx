"""Runs a plan, as an array of steps, over the rows of one table version and one operation.

A row is read once to find the offsets of its values; then its records are written. A program never refuses an event:
invalid input (a length beyond the end, NULL in a NOT NULL column, a different set of columns) is left to the generated
Python function of the same plan, which raises the error.
"""

from libc.stdint cimport uint64_t
from libc.string cimport memcmp, memcpy
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE

from replicator.compiled.arena cimport Entry
from replicator.compiled.avro cimport put_number
from replicator.compiled.cells cimport differ, put_cell
from replicator.compiled.codes cimport NO_AVRO
from replicator.compiled.event_texts cimport put_texts
from replicator.compiled.large_values cimport put_sliced, sliceable
from replicator.compiled.moments cimport Moment
from replicator.compiled.out cimport (
    BEHIND, DECLINED, NO_MEMORY, OK, little, put, put_kept, put_signed, reserve,
)
from replicator.compiled.pages cimport LARGE, trim_heap
from replicator.compiled.protobuf cimport close_message, put_count
from replicator.compiled.raw_images cimport put_columns, put_image
from replicator.compiled.steps cimport (
    AFTER, ASKED, BEFORE, CELL, COLUMNS, COUNT, Cut, Field, HEAD, IMAGE, MESSAGE, MOST_REPEATED, OBJECT, ORDER, REPEATED,
    ROW, SAME, TABLE_ORDER, TEXT, VALUE,
)
from replicator.compiled.values cimport Value, write_leaf, write_value

ABI = 14

cdef enum Spending:
    KEEPS = 0
    PROBES = 1  # long values are counted, and not written
    SPENDS = 2


cdef class Program(Steps):
    """A `decode.plan.compiler.Rows`: called for an event, with an `Arena` where the twin has a list's `append`.

    Args:
        spec: see `decode.native.programs.Spec`.
        twin: gives the twin.
        prepare: context -> the texts that are the same for all rows of an event.
        others: decodes events with other columns; None: the twin does.
    """

    def __cinit__(self, spec, twin, prepare, others=None):
        self.twin = twin
        self.others = others
        self.prepare = prepare
        self.busy = False

    # Called by the Python decoder

    def __call__(self, bytes b, s, Py_ssize_t p, Py_ssize_t end, row, append, context):
        """See `decode.plan.compiler.compile_rows`."""
        cdef const uint8_t* base = <const uint8_t*>PyBytes_AS_STRING(b)
        # Busy: of another thread's decoder; programs are shared, and have one row at hand.
        if type(append) is not Arena or self.busy or not 0 <= p <= end <= PyBytes_GET_SIZE(b):
            return self.twin()(b, s, p, end, row, append, context)
        if not self.matches(base + p, base + end):
            return (self.others or self.twin())(b, s, p, end, row, append, context)
        done = self._decoded(base + p, base + end, row, append, context)
        return done if done is not None else self.twin()(b, s, p, end, row, append, context)

    def of_images(self, bytes header, bytes b, Py_ssize_t p, Py_ssize_t end, row, append, context, bint spend=False):
        """As a call, of row images without the header of an event, which is `header`. None: nothing was done, and they
        need the twin.

        spend: nobody reads the images afterwards, also if this raises: their memory may be given back meanwhile.
        """
        cdef const uint8_t* base = <const uint8_t*>PyBytes_AS_STRING(b)
        cdef const uint8_t* head = <const uint8_t*>PyBytes_AS_STRING(header)
        cdef Py_ssize_t size = PyBytes_GET_SIZE(header)
        if type(append) is not Arena or self.busy or not 0 <= p <= end <= PyBytes_GET_SIZE(b):
            return None
        if size != self.header_size or not self.matches(head, head + size):
            return None
        # The header is not read again.
        return self._decoded(base + p - size, base + end, row, append, context, spend)

    cdef object _decoded(
        self, const uint8_t* p, const uint8_t* end, object row, Arena arena, object context, bint spend=False
    ):
        """None, and no records, where the twin has to do it."""
        cdef size_t count = arena.count
        cdef uint32_t topic, position
        cdef int64_t first, next_row, number
        cdef bytes where
        try:
            self._take_texts(context)
        except Exception:  # the twin says what is wrong
            return None
        self.table_rows, self.messages = context.table_rows, context.messages
        where = context.position
        number = arena.position_id(PyBytes_AS_STRING(where), PyBytes_GET_SIZE(where))
        if number < 0:
            raise MemoryError
        topic, position, first = arena.topic_id(self.topic), <uint32_t>number, row
        self.busy, self.context = True, context
        if end - p > LARGE:
            with nogil:
                trim_heap()
                spend = spend and self._may_spend(arena, p, end, first, topic, position)
                self.spends = SPENDS if spend else KEEPS
                next_row = self.run(arena, p, end, first, topic, position)
                self.spends = KEEPS
                self._drop_large()
        elif end - p > 4096:
            with nogil:
                next_row = self.run(arena, p, end, first, topic, position)
        else:
            next_row = self.run(arena, p, end, first, topic, position)
        self.busy, self.context = False, None
        if next_row < 0 and spend and end - p > LARGE:
            raise MemoryError  # the twin would find zeros
        if next_row < 0:
            del arena[count:]
            return None
        return next_row, self.written

    cdef _take_texts(self, context):
        cdef int index = 0
        cdef bytes text
        self.same.used = 0
        for text in self.prepare(context):
            if put(&self.same, PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text)) != OK:
                raise MemoryError
            self.same_ends[index] = self.same.used
            index += 1
        if reserve(&self.same, BEHIND) != OK:
            raise MemoryError

    # Long rows

    cdef bint _may_spend(
        self, Arena arena, const uint8_t* p, const uint8_t* end, int64_t row, uint32_t topic, uint32_t position
    ) noexcept nogil:
        """Whether these are the images of one row of which one value is long and written once, where nothing but memory
        can be missing: all else of the row is written to find that out."""
        cdef size_t count = arena.count
        cdef size_t used = arena.bytes.used
        cdef int64_t next_row
        cdef int index
        for index in range(self.step_count):
            if self.steps[index].kind == IMAGE or self.steps[index].kind == COLUMNS or self.steps[index].kind == CELL:
                return False
        self.spends, self.long_values = PROBES, 0
        next_row = self.run(arena, p, end, row, topic, position)
        arena.count, arena.bytes.used = count, used
        return next_row == row + 1 and self.long_values == 1

    # One event

    cdef bint matches(self, const uint8_t* p, const uint8_t* end) noexcept nogil:
        """Whether the event has the columns that the program is for."""
        cdef Py_ssize_t at
        if end - p < self.header_size:
            return False
        for at in range(self.header_size):  # bits that belong to no column may be anything
            if (p[at] ^ self.header_at[at]) & self.mask_at[at]:
                return False
        return True

    cdef int prepare_natively(self, Moment* moment) noexcept nogil:
        """Makes the texts that are the same for all rows of an event."""
        return put_texts(
            &self.same, self.same_ends, self.same_count, self.same_pieces, self.pieces, moment, &self.json
        )

    cdef int64_t run(
        self, Arena arena, const uint8_t* p, const uint8_t* end, int64_t row, uint32_t topic, uint32_t position
    ) noexcept nogil:
        """Appends the records of an event's rows. Returns the index of the row after the last one, or a negative
        status; then some records may have been appended. `p`: where `matches` was true."""
        cdef int image, status, verdict
        self.written = 0
        self.alone_in_event = False
        self.first_row = row
        for image in range(MOST_REPEATED):
            self.repeated[image].used = 0
        p += self.header_size
        while p < end:
            for image in range(self.images):
                if self._walk(image, &p, end) != OK:
                    return DECLINED
            verdict = self._verdict() if self.filtered else BEFORE | AFTER
            if verdict <= 0:
                if verdict < 0:
                    return DECLINED
                row += 1
                continue
            if self.grouped and row == self.first_row and p >= end:
                self.alone_in_event = True  # what it repeats is written where it belongs
                status = OK
            elif self.grouped:
                status = self._add_repeated(row)
            elif verdict == AFTER and self.moving:
                status = self._emit(arena, self.entering, self.entering_count, row, topic, position)
            elif verdict == BEFORE:
                status = self._emit(arena, self.leaving, self.leaving_count, row, topic, position)
            elif self.moved_count >= 0 and (self.always_moved or self._has_moved()):
                status = self._emit(arena, self.moved, self.moved_count, row, topic, position)
            else:
                status = self._emit(arena, self.forms, self.form_count, row, topic, position)
            if status != OK:
                return status
            row += 1
        self.rows = row - self.first_row
        if self.grouped and row != self.first_row:
            status = self._emit(arena, self.forms, self.form_count, self.first_row, topic, position)
            if status != OK:
                return status
        return row

    cdef int _walk(self, int image, const uint8_t** at, const uint8_t* end) noexcept nogil:
        """Finds the values of one image."""
        cdef const uint8_t* bitmap = at[0]
        cdef const uint8_t* p
        cdef int count = self.counts[image]
        cdef Field* field = self.fields[image]
        cdef Cut* cut = self.cuts + (self.counts[0] if image else 0)
        cdef int place
        cdef int64_t size
        if end - bitmap < (count + 7) >> 3:
            return DECLINED
        p = bitmap + ((count + 7) >> 3)
        for place in range(count):
            if bitmap[place >> 3] >> (place & 7) & 1:
                if not field.nullable:
                    return DECLINED
                cut.at = NULL
            else:
                size = field.size
                if size < 0:
                    if end - p < field.prefix:
                        return DECLINED
                    size = <int64_t>little(p, field.prefix)
                    p += field.prefix
                if size > end - p:
                    return DECLINED
                cut.at = p
                cut.size = <size_t>size
                p += size
            field += 1
            cut += 1
        self.whole[image].at, self.whole[image].size = bitmap, p - bitmap
        at[0] = p
        return OK

    cdef int _emit(
        self, Arena arena, Form* forms, int count, int64_t row, uint32_t topic, uint32_t position
    ) noexcept nogil:
        cdef Out* out = &arena.bytes
        cdef Entry* entry
        cdef Form* form
        cdef size_t before
        cdef int index, number, status
        for index in range(count):
            form = forms + index
            entry = arena.entry()
            if entry == NULL:
                return NO_MEMORY
            entry.topic, entry.position, entry.row = topic, position, row
            before = out.used
            entry.key = -1
            if form.key.first >= 0:
                status = self._write(out, form.key, row)
                if status != OK:
                    return status
                entry.key = out.used - before
            before = out.used
            entry.value = -1
            if form.value.first >= 0:
                status = self._write(out, form.value, row)
                if status != OK:
                    return status
                entry.value = out.used - before
            self.written += out.used - entry.at
            before = out.used
            if form.route.first >= 0:
                status = self._write(out, form.route, row)
                if status != OK:
                    return status
                entry.route = out.used - before
            before = out.used
            for number in range(form.piece_count):
                self.scratch.used = 0
                status = self._header(out, form, number, row)
                if status != OK:
                    return status
            entry.headers = out.used - before
            entry.header_count = form.header_count
            arena.count += 1
        return OK

    cdef int _header(self, Out* out, Form* form, int number, int64_t row) noexcept nogil:
        """A value is written first, to know its length, and then moved behind that."""
        cdef size_t before, size, prefix
        cdef uint64_t length
        cdef int status = put_kept(out, form.texts[number], form.text_sizes[number])
        if status != OK or form.headers[number].first < 0:
            return status
        before = out.used
        status = self._write(out, form.headers[number], row)
        if status != OK:
            return status
        size = out.used - before
        if reserve(out, size + 10) != OK:
            return NO_MEMORY
        memcpy(out.base + out.used + 10, out.base + before, size)
        length = <uint64_t>size << 1
        prefix = 0
        while length > 0x7F:
            out.base[before + prefix] = <char>(length & 0x7F | 0x80)
            length >>= 7
            prefix += 1
        out.base[before + prefix] = <char>length
        memcpy(out.base + before + prefix + 1, out.base + out.used + 10, size)
        out.used = before + prefix + 1 + size
        return OK

    cdef int _write(self, Out* out, Range steps, int64_t row) noexcept nogil:
        cdef Step* step = self.steps + steps.first
        cdef Step* last = self.steps + steps.last
        cdef Range inner
        cdef size_t start
        cdef int status, kind
        while step < last:
            kind = step.kind
            if kind == TEXT:
                status = put_kept(out, step.text, step.size)
            elif kind == VALUE:
                status = self._value(out, step)
            elif kind == SAME:
                start = self.same_ends[step.first - 1] if step.first else 0
                status = put_kept(out, self.same.base + start, self.same_ends[step.first] - start)
            elif kind == IMAGE:
                status = put_image(out, self.whole + step.value, step.not_null)
            elif kind >= ROW and kind <= TABLE_ORDER:
                status = self._number(out, step, row)
            elif kind == HEAD:
                status = OK if step.size else self._find_head(step)
                if status == OK:
                    status = put_kept(out, step.text, step.size)
            elif kind == OBJECT:
                status = self._object(out, step, row)
            elif kind == MESSAGE:
                status = self._message(out, step, row)
            elif kind == CELL:
                status = put_cell(
                    out, step, self.cuts, self.cells + step.after, self.values + step.value, &self.json, &self.other,
                    &self.scratch,
                )
            elif kind == COLUMNS:
                status = put_columns(out, step, self.steps, self.cuts, self.values, &self.json, &self.scratch)
            elif kind == COUNT:
                status = put_count(out, self.rows if step.first < 0 else step.first)
            elif kind == ASKED:
                status = self._asked(out, step, row)
            elif self.alone_in_event:
                inner.first, inner.last = step.first, step.last
                status = self._write(out, inner, row)
            else:
                status = put(out, self.repeated[step.value].base, self.repeated[step.value].used)
            if status != OK:
                return status
            step += 1
        return OK

    cdef int _number(self, Out* out, Step* step, int64_t row) noexcept nogil:
        """Of a row."""
        cdef int64_t number = row
        cdef int status
        if step.kind == ROW:
            number -= self.first_row
        elif step.kind == ORDER:
            number += 1 - self.messages
        elif step.kind == TABLE_ORDER:
            number += self.table_rows + 1 - self.first_row
        if step.leaf.type == NO_AVRO:
            return put_signed(out, number)
        status = put_number(out, &step.leaf, number)
        return DECLINED if status > OK else status

    cdef int _asked(self, Out* out, Step* step, int64_t row) noexcept with gil:
        cdef bytes text
        try:
            text = str((<object>step.python)(self.context, row)).encode("latin-1")
            return put(out, PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text))
        except Exception:
            return DECLINED

    cdef int _message(self, Out* out, Step* step, int64_t row) noexcept nogil:
        cdef Range inner
        cdef size_t before = out.used
        cdef size_t at
        cdef int status = put_kept(out, step.text, step.size)
        if status != OK:
            return status
        at = out.used
        if reserve(out, 1) != OK:
            return NO_MEMORY
        out.used += 1
        inner.first, inner.last = step.first, step.last
        status = self._write(out, inner, row)
        if status != OK:
            return status
        if step.not_null and out.used == at + 1:
            out.used = before
            return OK
        return close_message(out, at)

    cdef int _value(self, Out* out, Step* step) noexcept nogil:
        cdef Cut* cut = self.cuts + step.cut
        cdef Value* value = self.values + step.value
        if cut.at == NULL:
            return put_kept(out, step.null, step.null_size)
        if cut.size > LARGE and self.spends != KEEPS:
            return self._long_value(out, value, cut)
        if value.leaf.type == NO_AVRO:
            return write_value(out, value, cut.at, cut.size, &self.scratch)
        return write_leaf(out, value, cut.at, cut.size, &self.scratch, &self.json)

    cdef int _long_value(self, Out* out, Value* value, Cut* cut) noexcept nogil:
        if self.spends == SPENDS:
            return put_sliced(out, value, cut.at, cut.size, &self.scratch)
        self.long_values += 1 if value.leaf.type == NO_AVRO and sliceable(value, cut.at, cut.size) else 2
        return put(out, "\"\"", 2)

    cdef int _object(self, Out* out, Step* step, int64_t row) noexcept nogil:
        """`text` and then {members}, or `null` when none is there."""
        cdef Step* member
        cdef bint begun = False
        cdef int index, status
        for index in range(step.first, step.last):
            member = self.steps + index
            if member.before >= 0 and not differ(self.cuts + member.before, self.cuts + member.after):
                continue
            if member.not_null and self.cuts[member.cut].at == NULL:
                continue
            if begun:
                status = put(out, ",", 1)
            else:
                status = put_kept(out, step.text, step.size)
                if status == OK:
                    status = put(out, "{", 1)
                begun = True
            if status == OK:
                status = put_kept(out, member.text, member.size)
            if status == OK:
                status = self._value(out, member)
            if status != OK:
                return status
        return put(out, "}", 1) if begun else put_kept(out, step.null, step.null_size)

    cdef int _add_repeated(self, int64_t row) noexcept nogil:
        """Of a grouped plan: what this row adds."""
        cdef Step* step
        cdef Out* out
        cdef Range inner
        cdef int index, status
        for index in range(self.step_count):
            step = self.steps + index
            if step.kind != REPEATED or step.not_null:
                continue
            out = self.repeated + step.value
            if row != self.first_row and put(out, step.text, step.size) != OK:
                return NO_MEMORY
            inner.first, inner.last = step.first, step.last
            status = self._write(out, inner, row)
            if status != OK:
                return status
        return OK
