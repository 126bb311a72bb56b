"""Plans as arrays of steps, columns and writers, for `Program`."""

from libc.stdlib cimport calloc, free
from cpython.bytes cimport PyBytes_AS_STRING

from replicator.compiled.headers cimport varint
from replicator.compiled.out cimport BEHIND
from replicator.compiled.values cimport (
    BASE64, BEYOND, BIG_UNSIGNED, BIT_BASE64, BOOLEAN, BY_PYTHON, CONSTANT, DATETIME_EPOCH, DATETIME_ISO,
    DATETIME_NS, DATETIME_TEXT, DATE_DAYS, DATE_ISO, DATE_TEXT, DECIMAL_BASE64, DECIMAL_JAVA, DECIMAL_NUMBER,
    DECIMAL_STRING, DOUBLE_JAVA, FLOAT_JAVA, HEX, JSON_STRING, JSON_TEXT, LATIN1, REMEMBERED, REMEMBERED_SLOTS,
    SIGNED, SIGNED_STRING, Slot, TEXT_ASCII, TEXT_UTF8, TIMESTAMP_ISO, TIMESTAMP_TEXT, TIME_ISO, TIME_MS, TIME_NS,
    TIME_TEXT, TIME_US, UNSCALED, UNSIGNED, UNSIGNED_STRING,
)

ABI = 7

VARIABLES = {
    "ts_ms": TS_MS, "ts_us": TS_US, "ts_ns": TS_NS, "now_ms": NOW_MS, "now_us": NOW_US, "now_ns": NOW_NS,
    "event_s": EVENT_S, "event_ms": EVENT_MS, "gtid": GTID, "file": FILE, "pos": POS, "server_id": SERVER_ID,
    "thread": THREAD, "position": POSITION,
}
WRITERS = {
    "by_python": BY_PYTHON, "remembered": REMEMBERED, "signed": SIGNED, "unsigned": UNSIGNED,
    "decimal_base64": DECIMAL_BASE64, "decimal_number": DECIMAL_NUMBER, "decimal_string": DECIMAL_STRING,
    "double_java": DOUBLE_JAVA, "float_java": FLOAT_JAVA, "text_utf8": TEXT_UTF8, "text_ascii": TEXT_ASCII,
    "base64": BASE64, "date_days": DATE_DAYS, "datetime_epoch": DATETIME_EPOCH, "timestamp_iso": TIMESTAMP_ISO,
    "time_us": TIME_US, "json_string": JSON_STRING, "json_text": JSON_TEXT, "signed_string": SIGNED_STRING,
    "unsigned_string": UNSIGNED_STRING, "big_unsigned": BIG_UNSIGNED, "decimal_java": DECIMAL_JAVA,
    "datetime_text": DATETIME_TEXT, "timestamp_text": TIMESTAMP_TEXT, "time_text": TIME_TEXT, "date_text": DATE_TEXT,
    "date_iso": DATE_ISO, "datetime_ns": DATETIME_NS, "datetime_iso": DATETIME_ISO, "time_ms": TIME_MS,
    "time_ns": TIME_NS, "time_iso": TIME_ISO, "hex": HEX, "latin1": LATIN1, "bit_base64": BIT_BASE64,
    "unscaled": UNSCALED, "boolean": BOOLEAN, "constant": CONSTANT, "beyond": BEYOND,
}
"""Those of `values.pxd` by name."""
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
        for index in range(MOST_REPEATED):
            free(self.repeated[index].base)

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
        for index, (name, a, b, text, python) in enumerate(values):
            value = self.values + <int>index
            writer = WRITERS[name]
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

    cdef const char* _keep(self, bytes text) except NULL:
        """For `put_kept`."""
        cdef bytes kept = text + bytes(BEHIND)
        self.kept.append(kept)
        return PyBytes_AS_STRING(kept)


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
