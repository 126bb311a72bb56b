# Writes one value of a row as text or Avro: selects the writer of its column, and calls the Python renderer for all others.

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from replicator.compiled.avro cimport Leaf, put_blob, put_json, put_number, put_real
from replicator.compiled.codes cimport (
    AVRO_BYTES, AVRO_DOUBLE, AVRO_STRING, AVRO_WRITTEN, BASE64, BEYOND, BIG_UNSIGNED, BIT_BASE64, BOOLEAN, CONSTANT, DATETIME_EPOCH, DATETIME_ISO, DATETIME_NS,
    DATETIME_TEXT, DATE_DAYS, DATE_ISO, DATE_TEXT, DECIMAL_BASE64, DECIMAL_JAVA, DECIMAL_NUMBER, DECIMAL_STRING,
    DOUBLE_JAVA, FLOAT_JAVA, HEX, JSON_STRING, JSON_TEXT, LATIN1, REMEMBERED, SIGNED, SIGNED_STRING, TEXT_ASCII,
    TEXT_UTF8, TIMESTAMP_ISO, TIMESTAMP_TEXT, TIME_ISO, TIME_MS, TIME_NS, TIME_TEXT, TIME_US, UNSCALED, UNSIGNED,
    UNSIGNED_STRING,
)
from replicator.compiled.dates cimport (
    put_date_days, put_datetime_epoch, put_datetime_ns, put_time_ms, put_time_ns, put_time_us,
)
from replicator.compiled.datetexts cimport (
    put_date_iso, put_date_text, put_datetime_iso, put_datetime_text, put_time_iso, put_time_text, put_timestamp_iso,
    put_timestamp_text,
)
from replicator.compiled.decimals cimport decimal_bytes, put_decimal_base64, put_decimal_plain
from replicator.compiled.documents cimport put_document
from replicator.compiled.floats cimport double_at, put_java, single_at
from replicator.compiled.out cimport (
    ASK_PYTHON, DECLINED, NO_MEMORY, OK, Out, big, little, little_signed, put, put_signed, put_unsigned, reserve,
)
from replicator.compiled.quoted cimport (
    is_utf8, put_base64, put_hex, put_latin1, put_plain_ascii, put_quoted, put_reversed, put_unscaled,
)

cdef enum:
    REMEMBERED_SLOTS = 512
    NOT_DIRECT = 2  # beside the statuses of `out.pxd`

ctypedef struct Slot:
    uint64_t key
    char* text
    uint32_t size

ctypedef struct Value:
    int writer
    int a
    int64_t b
    const char* text
    size_t text_size
    void* python  # the twin's renderer: bytes -> latin-1 text of UTF-8, or of Avro
    Slot* slots
    Leaf leaf


cdef inline int write_value(Out* out, Value* value, const uint8_t* p, size_t size, Out* scratch) noexcept nogil:
    """The text of a value that is there. `scratch`: for texts that are written twice."""
    cdef size_t before = out.used
    cdef int status = _native(out, value, p, size, scratch)
    if status == ASK_PYTHON:
        out.used = before
        status = by_python(out, value, p, size)
    return status


cdef inline int write_leaf(
    Out* out, Value* value, const uint8_t* p, size_t size, Out* scratch, Out* text
) noexcept nogil:
    """As `write_value`, in Avro. `text`: for the JSON of those that are not written from the row itself."""
    cdef size_t before = out.used
    cdef int status
    if value.leaf.type == AVRO_WRITTEN:
        return _native_or_python(out, value, p, size)
    status = _direct(out, value, p, size)
    if status == NOT_DIRECT:
        text.used = 0
        status = _native(text, value, p, size, scratch)
        if status == OK:
            status = put_json(out, &value.leaf, text.base, text.used)
    if status == ASK_PYTHON:
        out.used = before
        status = by_python(out, value, p, size)
    return status


cdef inline int _native_or_python(Out* out, Value* value, const uint8_t* p, size_t size) noexcept nogil:
    return _remembered(out, value, p, size) if value.writer == REMEMBERED else by_python(out, value, p, size)


cdef inline int _direct(Out* out, Value* value, const uint8_t* p, size_t size) noexcept nogil:
    """The most usual values, whose JSON would only be read again."""
    cdef int writer = value.writer
    cdef uint64_t number
    cdef uint8_t raw[17]
    cdef int at
    if writer == SIGNED:
        return put_number(out, &value.leaf, little_signed(p, <int>size))
    if writer == UNSIGNED:
        number = little(p, <int>size)
        return ASK_PYTHON if number >> 63 else put_number(out, &value.leaf, <int64_t>number)
    if writer == TEXT_UTF8 and value.leaf.type == AVRO_STRING:
        return put_blob(out, &value.leaf, p, size, 0) if is_utf8(p, size) else ASK_PYTHON
    if writer == DOUBLE_JAVA and value.leaf.type == AVRO_DOUBLE:
        return put_real(out, &value.leaf, double_at(p))  # its text reads back as the same number
    if value.leaf.type == AVRO_BYTES:
        if writer == BASE64 and not value.b:
            return put_blob(out, &value.leaf, p, size, value.a)
        if writer == DECIMAL_BASE64:
            at = decimal_bytes(p, value.a, <int>value.b, raw)
            return ASK_PYTHON if at < 0 else put_blob(out, &value.leaf, raw + at, 17 - at, 0)
    return NOT_DIRECT


cdef inline int _native(Out* out, Value* value, const uint8_t* p, size_t size, Out* scratch) noexcept nogil:
    cdef int writer = value.writer
    cdef int status
    if writer == SIGNED:
        return put_signed(out, little_signed(p, <int>size))
    elif writer == UNSIGNED:
        return put_unsigned(out, little(p, <int>size))
    elif writer == TEXT_UTF8:
        return put_quoted(out, p, size, value.a)
    elif writer == REMEMBERED:
        return _remembered(out, value, p, size)
    elif writer == DECIMAL_BASE64:
        return put_decimal_base64(out, p, value.a, <int>value.b)
    elif writer == DECIMAL_JAVA:
        return put_decimal_plain(out, p, value.a, <int>value.b, False, True)
    elif writer == DECIMAL_NUMBER:
        return put_decimal_plain(out, p, value.a, <int>value.b, False, False)
    elif writer == DECIMAL_STRING:
        return put_decimal_plain(out, p, value.a, <int>value.b, True, False)
    elif writer == DATETIME_TEXT:
        return put_datetime_text(out, p, value.a, value.b != 0)
    elif writer == TIMESTAMP_TEXT:
        return put_timestamp_text(out, p, value.a, value.b != 0)
    elif writer == TIME_TEXT:
        return put_time_text(out, p, value.a)
    elif writer == BIG_UNSIGNED:
        return _big(out, p, size, value.a != 0)
    elif writer == DATETIME_EPOCH:
        return put_datetime_epoch(out, p, value.a, value.b, value.text, value.text_size)
    elif writer == TIMESTAMP_ISO:
        return put_timestamp_iso(out, p, value.a, value.text, value.text_size)
    elif writer == DATE_DAYS:
        return put_date_days(out, p, value.a, value.text, value.text_size)
    elif writer == DATE_TEXT:
        return put_date_text(out, p, value.b != 0)
    elif writer == TIME_US:
        return put_time_us(out, p, value.a)
    elif writer == JSON_TEXT:
        return put_document(out, p, size, value.a)
    elif writer == JSON_STRING:
        scratch.used = 0
        status = put_document(scratch, p, size, value.a)
        return status if status != OK else put_quoted(
            out, <const uint8_t*>scratch.base, scratch.used, <int>value.b
        )
    elif writer == DOUBLE_JAVA:
        return put_java(out, double_at(p), False, value.a != 0)
    elif writer == FLOAT_JAVA:
        return put_java(out, single_at(p), True, value.a != 0)
    elif writer == TEXT_ASCII:
        return put_plain_ascii(out, p, size)
    elif writer == BASE64:
        return put_base64(out, p, size, value.a, value.b != 0)
    elif writer == SIGNED_STRING or writer == UNSIGNED_STRING:
        if put(out, '"', 1) != OK:
            return NO_MEMORY
        if writer == SIGNED_STRING:
            put_signed(out, little_signed(p, <int>size))
        else:
            put_unsigned(out, little(p, <int>size))
        return put(out, '"', 1)
    elif writer == BOOLEAN:
        return put(out, "true", 4) if p[0] else put(out, "false", 5)
    elif writer == BEYOND:
        if little(p, <int>size) > <uint64_t>value.b:
            return put(out, value.text, value.a)
        return put(out, value.text + value.a, value.text_size - value.a)
    elif writer == CONSTANT:
        return put(out, value.text, value.text_size)
    elif writer == DATE_ISO:
        return put_date_iso(out, p, value.a, value.text, value.text_size)
    elif writer == DATETIME_NS:
        return put_datetime_ns(out, p, value.a, value.text, value.text_size)
    elif writer == DATETIME_ISO:
        return put_datetime_iso(out, p, value.a, value.text, value.text_size)
    elif writer == TIME_MS:
        return put_time_ms(out, p, value.a, value.b != 0)
    elif writer == TIME_NS:
        return put_time_ns(out, p, value.a)
    elif writer == TIME_ISO:
        return put_time_iso(out, p, value.a, value.b != 0)
    elif writer == HEX:
        return put_hex(out, p, size, value.a)
    elif writer == LATIN1:
        return put_latin1(out, p, size, value.a)
    elif writer == BIT_BASE64:
        return put_reversed(out, p, size)
    elif writer == UNSCALED:
        return put_unscaled(out, little(p, <int>size))
    return ASK_PYTHON


cdef inline int _big(Out* out, const uint8_t* p, size_t size, bint quoted) noexcept nogil:
    if quoted and put(out, '"', 1) != OK:
        return NO_MEMORY
    if put_unsigned(out, big(p, <int>size)) != OK:
        return NO_MEMORY
    return put(out, '"', 1) if quoted else OK


cdef inline int _remembered(Out* out, Value* value, const uint8_t* p, size_t size) noexcept nogil:
    cdef uint64_t key = little(p, <int>size)
    cdef Slot* slot = value.slots + (key * 0x9E3779B97F4A7C15ULL >> 55)
    cdef size_t before = out.used
    cdef char* text
    cdef int status
    if slot.text != NULL and slot.key == key:
        return put(out, slot.text, slot.size)
    status = by_python(out, value, p, size)
    if status == OK:
        text = <char*>malloc(out.used - before + 1)
        if text != NULL:
            memcpy(text, out.base + before, out.used - before)
            free(slot.text)
            slot.key, slot.text, slot.size = key, text, <uint32_t>(out.used - before)
    return status


cdef inline int by_python(Out* out, Value* value, const uint8_t* p, size_t size) noexcept with gil:
    """The twin's renderer. What it raises it raises again when the twin decodes the event."""
    cdef str text
    try:
        text = (<object>value.python)((<const char*>p)[:size])
        return _put_latin(out, text)
    except Exception:
        return DECLINED


cdef inline int _put_latin(Out* out, str text) except -3:
    cdef bytes raw = text.encode("latin-1")
    cdef const char* at = raw
    return put(out, at, len(raw))
