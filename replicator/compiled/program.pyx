"""Rows of one table version and one operation to records: a plan as an array of steps, run for each row.

A row is walked once, to find where its values stand; then its records are written from those. A program never refuses
an event: whatever is not as it should be (a length over the end, NULL where there is none, another set of columns) it
leaves to its twin, the generated Python function, which knows what is wrong and how to say so.
"""

from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE

from replicator.compiled.out cimport (
    DECLINED, NO_MEMORY, OK, little, put, put_signed, put_unsigned, reserve,
)
from replicator.compiled.values cimport REMEMBERED, REMEMBERED_SLOTS, Slot, write_value

ABI = 2

cdef enum Kind:
    TEXT = 0
    SAME = 1  # `first`: which text of the event
    VALUE = 2
    ROW = 3  # index in its event
    OFFSET = 4  # in its transaction
    ORDER = 5
    TABLE_ORDER = 6
    OBJECT = 7
    REPEATED = 8  # `value`: which of the texts that rows add to
    MEMBER = 9
    ASKED = 10  # of Python, by the number of the row

cdef enum Variable:
    TS_MS = 0
    TS_US = 1
    TS_NS = 2
    NOW_MS = 3
    NOW_US = 4
    NOW_NS = 5
    EVENT_S = 6
    EVENT_MS = 7
    GTID = 8
    FILE = 9
    POS = 10
    SERVER_ID = 11
    THREAD = 12
    LITERAL = 13
    POSITION = 14

VARIABLES = {
    "ts_ms": TS_MS, "ts_us": TS_US, "ts_ns": TS_NS, "now_ms": NOW_MS, "now_us": NOW_US, "now_ns": NOW_NS,
    "event_s": EVENT_S, "event_ms": EVENT_MS, "gtid": GTID, "file": FILE, "pos": POS, "server_id": SERVER_ID,
    "thread": THREAD, "position": POSITION,
}
_ROW_KINDS = {"row": ROW, "offset": OFFSET, "order": ORDER, "table_order": TABLE_ORDER}
MOST_REPEATED = 4


cdef class Program:
    """A `decode.compiler.Rows`: called for an event, with an `Arena` where the twin has a list's `append`.

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
        self.kept = []
        self.busy = False
        self.header_at, self.header_size = <const uint8_t*>self._keep(spec.header), len(spec.header)
        self.mask_at = <const uint8_t*>self._keep(spec.mask)
        self.topic = spec.topic
        self.grouped = spec.grouped
        self.images = len(spec.images)
        self.always_moved = spec.always_moved
        self._columns(spec.images)
        self._values(spec.values)
        self._same_texts(spec.same)
        self._steps(spec.steps)
        self.forms = self._forms(spec.records)
        self.form_count = len(spec.records)
        self.moved_count = -1
        if spec.moved is not None:
            self.moved = self._forms(spec.moved)
            self.moved_count = len(spec.moved)
        self.compared_count = len(spec.compared)
        self.compared = <int*>_zeros(2 * self.compared_count + 1, sizeof(int))
        for index, (before, after) in enumerate(spec.compared):
            self.compared[2 * index], self.compared[2 * index + 1] = before, after

    def __dealloc__(self):
        cdef int index, slot
        for index in range(self.value_count):
            if self.values[index].slots != NULL:
                for slot in range(REMEMBERED_SLOTS):
                    free(self.values[index].slots[slot].text)
                free(self.values[index].slots)
        free(self.fields[0])
        free(self.fields[1])
        free(self.cuts)
        free(self.values)
        free(self.steps)
        free(self.forms)
        free(self.moved)
        free(self.compared)
        free(self.pieces)
        free(self.same_pieces)
        free(self.same_ends)
        free(self.same.base)
        free(self.scratch.base)
        for index in range(4):
            free(self.repeated[index].base)

    # Made of a specification

    def _columns(self, images):
        cdef int image, index, total = 0
        for image, columns in enumerate(images):
            self.counts[image] = len(columns)
            total += len(columns)
            self.fields[image] = <Field*>_zeros(len(columns) + 1, sizeof(Field))
            for index, (size, prefix, nullable) in enumerate(columns):
                self.fields[image][index] = Field(size, prefix, nullable)
        self.cuts = <Cut*>_zeros(total + 1, sizeof(Cut))

    def _values(self, values):
        cdef Value* value
        self.value_count = len(values)
        self.values = <Value*>_zeros(len(values) + 1, sizeof(Value))
        for index, (writer, a, b, text, python) in enumerate(values):
            value = self.values + <int>index
            value.writer, value.a, value.b = writer, a, b
            value.text, value.text_size = self._keep(text), len(text)
            self.kept.append(python)
            value.python = <void*>python
            if writer == REMEMBERED:
                value.slots = <Slot*>_zeros(REMEMBERED_SLOTS, sizeof(Slot))

    def _same_texts(self, texts):
        cdef int at = 0
        self.alone = True
        self.same_count = len(texts)
        self.pieces = <Step*>_zeros(sum([len(text) for text in texts]) + 1, sizeof(Step))
        self.same_pieces = <int*>_zeros(len(texts) + 1, sizeof(int))
        self.same_ends = <size_t*>_zeros(len(texts) + 1, sizeof(size_t))
        for index, text in enumerate(texts):
            self.same_pieces[<int>index] = at
            for piece in text:
                if isinstance(piece, bytes):
                    self.pieces[at].kind = LITERAL
                    self.pieces[at].text, self.pieces[at].size = self._keep(piece), len(piece)
                elif piece[0] in VARIABLES:
                    self.pieces[at].kind, before = VARIABLES[piece[0]], piece[1] or b""
                    self.pieces[at].text, self.pieces[at].size = self._keep(before), len(before)
                    self.pieces[at].not_null = piece[1] is not None
                else:
                    self.alone = False
                at += 1
        self.same_pieces[self.same_count] = at

    def _steps(self, steps):
        cdef Step* step
        self.step_count = len(steps)
        self.steps = <Step*>_zeros(len(steps) + 1, sizeof(Step))
        for index, fields in enumerate(steps):
            step = self.steps + <int>index
            step.before = step.after = -1
            kind = fields[0]
            if kind == "text":
                step.kind = TEXT
                step.text, step.size = self._keep(fields[1]), len(fields[1])
            elif kind == "same":
                step.kind, step.first = SAME, fields[1]
            elif kind == "value":
                step.kind = VALUE
                self._value_step(step, fields[1:])
            elif kind == "object":
                step.kind = OBJECT
                step.first, step.last = fields[1], fields[2]
                step.text, step.size = self._keep(fields[3]), len(fields[3])
                step.null, step.null_size = self._keep(fields[4]), len(fields[4])
            elif kind == "member":
                step.kind = MEMBER
                step.text, step.size = self._keep(fields[1]), len(fields[1])
                self._value_step(step, fields[2:5])
                step.before, step.after, step.not_null = fields[5:]
            elif kind == "repeated":
                step.kind = REPEATED
                step.value, step.first, step.last = fields[1:4]
                step.text, step.size = self._keep(fields[4]), len(fields[4])
                step.not_null = fields[5]  # another step adds to this text already
            elif kind == "asked":
                step.kind = ASKED
                self.kept.append(fields[1])
                step.python = <void*>fields[1]
                self.alone = False
            else:
                step.kind = _ROW_KINDS[kind]

    cdef _value_step(self, Step* step, fields):
        step.cut, step.value, null = fields
        step.null, step.null_size = self._keep(null), len(null)

    cdef Form* _forms(self, records) except? NULL:
        cdef Form* forms = <Form*>_zeros(len(records) + 1, sizeof(Form))
        cdef Form* form
        for index, record in enumerate(records):
            form = forms + <int>index
            form.key, form.value, form.route = _range(record.key), _range(record.value), _range(record.route)
            form.header_count = len(record.headers)
            for number, (name, template) in enumerate(record.headers):
                form.names[<int>number], form.name_sizes[<int>number] = self._keep(name), len(name)
                form.headers[<int>number] = _range(template)
        return forms

    cdef const char* _keep(self, bytes text) except NULL:
        self.kept.append(text)
        return PyBytes_AS_STRING(text)

    # Called by the Python decoder

    def __call__(self, bytes b, s, Py_ssize_t p, Py_ssize_t end, row, append, context):
        """See `decode.compiler.compile_rows`."""
        cdef const uint8_t* base = <const uint8_t*>PyBytes_AS_STRING(b)
        cdef Arena arena
        cdef size_t count
        cdef uint32_t topic, position
        cdef int64_t first, next_row, number
        cdef bytes where
        # Busy: of another thread's decoder; programs are shared, and have one row at hand.
        if type(append) is not Arena or self.busy or not 0 <= p <= end <= PyBytes_GET_SIZE(b):
            return self.twin()(b, s, p, end, row, append, context)
        if not self.matches(base + p, base + end):
            return (self.others or self.twin())(b, s, p, end, row, append, context)
        arena = append
        count = arena.count
        self._take_texts(context)
        self.table_rows, self.told = context.table_rows, context.told
        where = context.position
        number = arena.position_id(PyBytes_AS_STRING(where), PyBytes_GET_SIZE(where))
        if number < 0:
            raise MemoryError
        topic, position, first = arena.topic_id(self.topic), <uint32_t>number, row
        self.busy, self.context = True, context
        if end - p > 4096:
            with nogil:
                next_row = self.run(arena, base + p, base + end, first, topic, position)
        else:
            next_row = self.run(arena, base + p, base + end, first, topic, position)
        self.busy, self.context = False, None
        if next_row < 0:
            del arena[count:]
            return self.twin()(b, s, p, end, row, append, context)
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
        cdef Out* out = &self.same
        cdef Step* piece
        cdef int text, at, kind, status
        cdef bint null
        out.used = 0
        for text in range(self.same_count):
            for at in range(self.same_pieces[text], self.same_pieces[text + 1]):
                piece = self.pieces + at
                kind = piece.kind
                null = (kind == GTID and moment.gtid_size == 4) or (kind == THREAD and moment.thread < 0)
                if piece.not_null and null:
                    continue
                status = put(out, piece.text, piece.size)
                if kind == LITERAL or status != OK:
                    pass
                elif kind == GTID:
                    status = put(out, moment.gtid, moment.gtid_size)
                elif kind == FILE:
                    status = put(out, moment.file, moment.file_size)
                elif null:
                    status = put(out, "null", 4)
                elif kind == POSITION:
                    status = put(out, moment.file, moment.file_size - 1)
                    if status == OK:
                        status = put(out, ":", 1)
                    if status == OK:
                        status = put_signed(out, moment.pos)
                    if status == OK:
                        status = put(out, '"', 1)
                else:
                    status = put_signed(out, _number(moment, kind))
                if status != OK:
                    return status
            self.same_ends[text] = out.used
        return OK

    cdef int64_t run(
        self, Arena arena, const uint8_t* p, const uint8_t* end, int64_t row, uint32_t topic, uint32_t position
    ) noexcept nogil:
        """Appends the records of an event's rows. Returns the index of the row after the last one, or a negative
        status; then some records may have been appended. `p`: where `matches` was true."""
        cdef int image, status
        self.written = 0
        self.first_row = row
        for image in range(4):
            self.repeated[image].used = 0
        p += self.header_size
        while p < end:
            for image in range(self.images):
                if self._walk(image, &p, end) != OK:
                    return DECLINED
            if self.grouped:
                status = self._add_repeated(row)
            elif self.moved_count >= 0 and (self.always_moved or self._has_moved()):
                status = self._emit(arena, self.moved, self.moved_count, row, topic, position)
            else:
                status = self._emit(arena, self.forms, self.form_count, row, topic, position)
            if status != OK:
                return status
            row += 1
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
        at[0] = p
        return OK

    cdef bint _has_moved(self) noexcept nogil:
        cdef int index
        for index in range(self.compared_count):
            if _differ(self.cuts + self.compared[2 * index], self.cuts + self.compared[2 * index + 1]):
                return True
        return False

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
            for number in range(form.header_count):
                self.scratch.used = 0
                status = self._header(out, form, number, row)
                if status != OK:
                    return status
            entry.headers = out.used - before
            entry.header_count = form.header_count
            arena.count += 1
        return OK

    cdef int _header(self, Out* out, Form* form, int number, int64_t row) noexcept nogil:
        """Its value is written first, to know its length, and then moved behind that."""
        cdef size_t before, size, prefix
        cdef uint64_t length
        cdef int status = put(out, form.names[number], form.name_sizes[number])
        before = out.used
        if status == OK:
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
        cdef size_t start
        cdef int status, kind
        while step < last:
            kind = step.kind
            if kind == TEXT:
                status = put(out, step.text, step.size)
            elif kind == VALUE:
                status = self._value(out, step)
            elif kind == SAME:
                start = self.same_ends[step.first - 1] if step.first else 0
                status = put(out, self.same.base + start, self.same_ends[step.first] - start)
            elif kind == ROW:
                status = put_signed(out, row - self.first_row)
            elif kind == OFFSET:
                status = put_signed(out, row)
            elif kind == ORDER:
                status = put_signed(out, row + 1 - self.told)
            elif kind == TABLE_ORDER:
                status = put_signed(out, self.table_rows + 1 + row - self.first_row)
            elif kind == OBJECT:
                status = self._object(out, step, row)
            elif kind == ASKED:
                status = self._asked(out, step, row)
            else:
                status = put(out, self.repeated[step.value].base, self.repeated[step.value].used)
            if status != OK:
                return status
            step += 1
        return OK

    cdef int _asked(self, Out* out, Step* step, int64_t row) noexcept with gil:
        cdef bytes text
        try:
            text = str((<object>step.python)(self.context, row)).encode("latin-1")
            return put(out, PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text))
        except Exception:
            return DECLINED

    cdef int _value(self, Out* out, Step* step) noexcept nogil:
        cdef Cut* cut = self.cuts + step.cut
        if cut.at == NULL:
            return put(out, step.null, step.null_size)
        return write_value(out, self.values + step.value, cut.at, cut.size, &self.scratch)

    cdef int _object(self, Out* out, Step* step, int64_t row) noexcept nogil:
        """`text` and then {members}, or `null` when none is there."""
        cdef Step* member
        cdef bint begun = False
        cdef int index, status
        for index in range(step.first, step.last):
            member = self.steps + index
            if member.before >= 0 and not _differ(self.cuts + member.before, self.cuts + member.after):
                continue
            if member.not_null and self.cuts[member.cut].at == NULL:
                continue
            if begun:
                status = put(out, ",", 1)
            else:
                status = put(out, step.text, step.size)
                if status == OK:
                    status = put(out, "{", 1)
                begun = True
            if status == OK:
                status = put(out, member.text, member.size)
            if status == OK:
                status = self._value(out, member)
            if status != OK:
                return status
        return put(out, "}", 1) if begun else put(out, step.null, step.null_size)

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


cdef inline int64_t _number(Moment* moment, int kind) noexcept nogil:
    if kind == TS_MS:
        return moment.ts_us // 1000
    elif kind == TS_US:
        return moment.ts_us
    elif kind == TS_NS:
        return moment.ts_us * 1000
    elif kind == NOW_MS:
        return moment.now_ns // 1000000
    elif kind == NOW_US:
        return moment.now_ns // 1000
    elif kind == NOW_NS:
        return moment.now_ns
    elif kind == EVENT_S:
        return moment.event_s
    elif kind == EVENT_MS:
        return moment.event_s * 1000
    elif kind == POS:
        return moment.pos
    elif kind == SERVER_ID:
        return moment.server_id
    return moment.thread


cdef inline bint _differ(Cut* one, Cut* other) noexcept nogil:
    if one.at == NULL or other.at == NULL:
        return one.at != other.at
    return one.size != other.size or memcmp(one.at, other.at, one.size) != 0


cdef Range _range(template) except *:
    cdef Range found
    found.first, found.last = (-1, -1) if template is None else template
    return found


cdef void* _zeros(size_t count, size_t size) except NULL:
    cdef void* found = calloc(count, size)
    if found == NULL:
        raise MemoryError
    return found
