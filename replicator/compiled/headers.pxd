# Writes record headers in the format of a Kafka record: name, value, name, ..., each after its length.

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from cpython.bytes cimport PyBytes_FromStringAndSize

from replicator.compiled.varints cimport VARINT_MOST, varint_at


cdef inline bytes varint(Py_ssize_t number):
    """Zigzag, of a length."""
    cdef char made[VARINT_MOST]
    return made[:varint_at(made, <uint64_t>number << 1) - made]


cdef inline bytes packed_headers(tuple headers):
    if not headers:
        return b""
    out = bytearray()
    for name, value in headers:
        for part in (name.encode(), value):
            out += varint(len(part)) + part
    return bytes(out)


cdef inline tuple headers_of(const char* at, uint32_t count):
    cdef size_t length
    cdef int shift
    parts = []
    for _ in range(2 * count):
        length = shift = 0
        while True:
            length |= <size_t>(<uint8_t>at[0] & 0x7F) << shift
            shift += 7
            at += 1
            if not <uint8_t>(at - 1)[0] & 0x80:
                break
        length >>= 1
        parts.append(PyBytes_FromStringAndSize(at, length))
        at += length
    return tuple([(parts[i].decode(), parts[i + 1]) for i in range(0, len(parts), 2)])
