"""Converts plans to arrays of steps, columns and writers for `Program`."""

from libc.stdlib cimport calloc, free
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize

from replicator.compiled.avro cimport Leaf
from replicator.compiled.codes cimport ALL, ANY, COLUMNS as COLUMNS_TEST, LIKE, MEMBER_TEST, NUMBERS, REALS, REMEMBERED, TEXTS, WIDES
from replicator.compiled.headers cimport varint
from replicator.compiled.protobuf cimport Cell, Piece
from replicator.compiled.out cimport BEHIND, DECLINED, OK, drop
from replicator.compiled.cells cimport differ
from replicator.compiled.filters cimport Condition, Constant, Reading, Register, passes, read_value
from replicator.compiled.pages cimport LARGE
from replicator.compiled.values cimport REMEMBERED_SLOTS, Slot

from array import array

from replicator.compiled.codes import BINARY_TYPES, READERS, SIGNS, TESTS, WRITERS

ABI = 14

VARIABLES = {
    "ts_ms": TS_MS, "ts_us": TS_US, "ts_ns": TS_NS, "now_ms": NOW_MS, "now_us": NOW_US, "now_ns": NOW_NS,
    "event_s": EVENT_S, "event_ms": EVENT_MS, "gtid": GTID, "file": FILE, "pos": POS, "server_id": SERVER_ID,
    "thread": THREAD, "position": POSITION, "unchecked": UNCHECKED,
}
_ROW_KINDS = {"row": ROW, "offset": OFFSET, "order": ORDER, "table_order": TABLE_ORDER}


cdef class Steps:
    """Args:
    spec: see `decode.native.programs.Spec`.
    """

    def __cinit__(self, spec, *_):
        self.kept = []
        self.header_at, self.header_size = <const uint8_t*>self._keep(spec.header), len(spec.header)
        self.mask_at = <const uint8_t*>self._keep(spec.mask)
        self.topic = spec.topic
        self.grouped = spec.grouped
        self.images = len(spec.images)
        self.always_moved = spec.always_moved
        self._columns(spec.images)
        self._values(spec.values)
        self._same_texts(spec.same)
        self._cells(spec.cells)
        self._steps(spec.steps)
        self.forms = self._forms(spec.records, spec.steps)
        self.form_count = len(spec.records)
        self.moved_count = -1
        if spec.moved is not None:
            self.moved = self._forms(spec.moved, spec.steps)
            self.moved_count = len(spec.moved)
        self.compared_count = len(spec.compared)
        self.compared = <int*>_zeros(2 * self.compared_count + 1, sizeof(int))
        for index, (before, after) in enumerate(spec.compared):
            self.compared[2 * index], self.compared[2 * index + 1] = before, after
        self.filtered = spec.filter is not None
        if self.filtered:
            self._filter(spec.filter)
            self.entering, self.entering_count = self._forms(spec.entering, spec.steps), len(spec.entering)
            self.leaving, self.leaving_count = self._forms(spec.leaving, spec.steps), len(spec.leaving)

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
        free(self.entering)
        free(self.leaving)
        free(self.readings)
        free(self.registers)
        free(self.tests[0])
        free(self.tests[1])
        free(self.pieces)
        free(self.same_pieces)
        free(self.same_ends)
        free(self.same.base)
        free(self.scratch.base)
        free(self.json.base)
        free(self.other.base)
        free(self.cells)
        for index in range(MOST_REPEATED):
            free(self.repeated[index].base)

    cdef int _verdict(self) noexcept nogil:
        """Of the filter: BEFORE and AFTER, where it holds for these images; AFTER alone where rows do not move; 0: not."""
        cdef int index
        cdef Reading* reading
        cdef Cut* cut
        if not self.native_filter:
            return self._verdict_of_python()
        for index in range(self.reading_count):
            reading = self.readings + index
            cut = self.cuts + reading.cut
            if cut.at == NULL:
                self.registers[index].at = NULL
            elif not read_value(self.registers + index, reading, cut.at, cut.size):
                return self._verdict_of_python()
        index = AFTER if passes(self.tests[1], self.readings, self.registers) else 0
        if self.moving and passes(self.tests[0], self.readings, self.registers):
            index |= BEFORE
        return index

    cdef int _verdict_of_python(self) noexcept with gil:
        cdef int index
        cdef Cut* cut
        try:
            raws = []
            for index in range(self.reading_count):
                cut = self.cuts + self.readings[index].cut
                raws.append(None if cut.at == NULL else (<const char*>cut.at)[:cut.size])
            return self.filter_in_python(raws)
        except Exception:
            return DECLINED

    cdef bint _has_moved(self) noexcept nogil:
        cdef int index
        for index in range(self.compared_count):
            if differ(self.cuts + self.compared[2 * index], self.cuts + self.compared[2 * index + 1]):
                return True
        return False

    cdef void _drop_large(self) noexcept nogil:
        """The next row is not as long."""
        cdef int index
        drop(&self.scratch, LARGE)
        drop(&self.json, LARGE)
        drop(&self.other, LARGE)
        for index in range(MOST_REPEATED):
            drop(&self.repeated[index], LARGE)

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
        for index, (name, a, b, text, python, leaf) in enumerate(values):
            value = self.values + <int>index
            writer = WRITERS[name]
            value.writer, value.a, value.b = writer, a, b
            value.text, value.text_size = self._keep(text), len(text)
            self.kept.append(python)
            value.python = <void*>python
            value.leaf = _leaf(leaf)
            if writer == REMEMBERED:
                value.slots = <Slot*>_zeros(REMEMBERED_SLOTS, sizeof(Slot))

    def _cells(self, columns):
        cdef Cell* cell
        self.cells = <Cell*>_zeros(len(columns) + 1, sizeof(Cell))
        for index, column in enumerate(columns):
            cell = self.cells + <int>index
            for changed in range(2):
                cell.heads[<int>changed] = self._piece(column.heads[changed])
                cell.nulls[<int>changed] = self._piece(column.nulls[changed])
                cell.wide[<int>changed] = self._piece(column.wide[changed])
            cell.tag, cell.tail = self._piece(column.tag), self._piece(column.tail)
            cell.varies, cell.limit = column.limit is not None, column.limit or 0

    cdef Piece _piece(self, bytes text):
        return Piece(self._keep(text), len(text))

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
                    self.pieces[at].leaf = _leaf(piece[2])
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
            elif kind == "message":
                step.kind = MESSAGE
                step.first, step.last, step.not_null = fields[2:]
                step.text, step.size = self._keep(fields[1]), len(fields[1])
            elif kind == "count":
                step.kind, step.first = COUNT, fields[1]
            elif kind == "cell":
                step.kind = CELL
                step.text, step.size = self._keep(fields[1]), len(fields[1])
                step.cut, step.value, step.after, step.before = fields[2:]
            elif kind == "image":
                step.kind, step.value, step.not_null = IMAGE, fields[1], fields[2]
            elif kind == "columns":
                step.kind, step.first, step.last, step.not_null = COLUMNS, fields[1], fields[2], fields[3]
            elif kind == "column":
                step.kind, step.cut, step.first = COLUMN, fields[1], fields[2]
            elif kind == "column_text":
                step.kind, step.cut, step.value, step.first = COLUMN_TEXT, fields[1], fields[2], fields[3]
            elif kind == "no_column":
                step.kind = NO_COLUMN
            elif kind == "head":
                step.kind = HEAD
                self.kept.append(fields[1])
                step.python = <void*>fields[1]
            else:
                step.kind = _ROW_KINDS[kind]
                step.leaf = _leaf(fields[1])

    cdef _value_step(self, Step* step, fields):
        step.cut, step.value, null = fields
        step.null, step.null_size = self._keep(null), len(null)

    def _filter(self, found):
        """found: see `decode.native.filters.Program`."""
        self.reading_count = len(found.reads)
        self.readings = <Reading*>_zeros(len(found.reads) + 1, sizeof(Reading))
        self.registers = <Register*>_zeros(len(found.reads) + 1, sizeof(Register))
        for index, read in enumerate(found.reads):
            self.readings[<int>index] = Reading(READERS[read.reader], read.place, read.a, read.b)
        self.filter_in_python, self.native_filter, self.moving = found.python, found.native, found.before is not None
        if found.native:
            self.tests[0], self.tests[1] = self._tests(found.before or ()), self._tests(found.after)

    cdef Condition* _tests(self, nodes) except NULL:
        cdef Condition* tests = <Condition*>_zeros(len(nodes) + 1, sizeof(Condition))
        cdef Condition* test
        for index, node in enumerate(nodes):
            test = tests + <int>index
            test.kind, test.behind = TESTS[node[0]], index + 1
            if test.kind == ALL or test.kind == ANY:
                test.behind += node[1]
            elif len(node) > 1:
                test.column = node[1]
                self._test(test, node[2:])
        return tests

    cdef _test(self, Condition* test, fields):
        """fields: what a test of a column has behind that."""
        if not fields:
            return
        if test.kind == MEMBER_TEST:
            test.constants = <void*>self._keep(fields[0])
        elif test.kind in (NUMBERS, WIDES, REALS, TEXTS, LIKE):
            test.wanted, test.count = fields[0], len(fields) - 1
            if test.kind in (TEXTS, LIKE):
                test.constants = self._constants(fields[1:])
            else:
                code = "q" if test.kind == NUMBERS else "Q" if test.kind == WIDES else "d"
                test.constants = <void*>self._keep(array(code, fields[1:]).tobytes())
        else:
            test.sign = SIGNS[fields[0]]
            if test.kind == COLUMNS_TEST:
                test.other = fields[1]
            elif isinstance(fields[1], bytes):
                test.constants = self._constants(fields[1:])
            elif isinstance(fields[1], float):
                test.real = fields[1]
            elif fields[1] < 0:
                test.number = fields[1]
            else:
                test.wide = fields[1]
                test.number = <int64_t>test.wide

    cdef void* _constants(self, texts) except NULL:
        cdef bytes room = PyBytes_FromStringAndSize(NULL, sizeof(Constant) * (len(texts) + 1))
        cdef Constant* constants = <Constant*>PyBytes_AS_STRING(room)
        for index, text in enumerate(texts):
            constants[<int>index] = Constant(self._keep(text), len(text))
        self.kept.append(room)
        return <void*>constants

    cdef Form* _forms(self, records, steps) except? NULL:
        cdef Form* forms = <Form*>_zeros(len(records) + 1, sizeof(Form))
        cdef Form* form
        for index, record in enumerate(records):
            form = forms + <int>index
            form.key, form.value, form.route = _range(record.key), _range(record.value), _range(record.route)
            form.header_count = len(record.headers)
            pieces = _header_pieces(record.headers, steps)
            form.piece_count = len(pieces)
            for number, (text, template) in enumerate(pieces):
                form.texts[<int>number], form.text_sizes[<int>number] = self._keep(text), len(text)
                form.headers[<int>number] = _range(template)
        return forms

    cdef int _find_head(self, Step* step) noexcept with gil:
        """The twin registers the schema with the first record, so this asks nobody but the process."""
        try:
            head = (<object>step.python).head
            if not head:
                return DECLINED
            step.text, step.size = self._keep(head), len(head)
            return OK
        except Exception:
            return DECLINED

    cdef const char* _keep(self, bytes text) except NULL:
        """For `put_kept`."""
        cdef bytes kept = text + bytes(BEHIND)
        self.kept.append(kept)
        return PyBytes_AS_STRING(kept)


cdef Leaf _leaf(found):
    """found: a `decode.native.avro.Leaf`; None: the record is text."""
    return Leaf(0, -1, -1) if found is None else Leaf(BINARY_TYPES[found.type], found.some, found.none)


def _header_pieces(headers, steps):
    """[(text, steps of the value behind it; None: nothing)]: what is the same in every record is one text."""
    pieces, text = [], b""
    for name, template in headers:
        inside = steps[slice(*template)] if template is not None else ()
        text += name
        if all(step[0] == "text" for step in inside):
            value = b"".join([step[1] for step in inside])
            text += varint(len(value)) + value
        else:
            pieces.append((text, template))
            text = b""
    return [*pieces, (text, None)] if text else pieces


cdef Range _range(template) except *:
    cdef Range found
    found.first, found.last = (-1, -1) if template is None else template
    return found


cdef void* _zeros(size_t count, size_t size) except NULL:
    cdef void* found = calloc(count, size)
    if found == NULL:
        raise MemoryError
    return found
