# Writes integers of variable length: seven bits per byte, lowest first (protobuf); with zigzag encoding for Kafka and Avro.

from libc.stdint cimport int64_t, uint64_t


cdef enum:
    VARINT_MOST = 10  # bytes of one


cdef inline uint64_t zigzag(int64_t number) noexcept nogil:
    return <uint64_t>number << 1 ^ <uint64_t>(number >> 63)


cdef inline size_t varint_size(uint64_t number) noexcept nogil:
    cdef size_t size = 1
    while number > 0x7F:
        number >>= 7
        size += 1
    return size


cdef inline char* varint_at(char* o, uint64_t number) noexcept nogil:
    """At most VARINT_MOST bytes. Returns the place behind them."""
    while number > 0x7F:
        o[0] = <char>(number & 0x7F | 0x80)
        number >>= 7
        o += 1
    o[0] = <char>number
    return o + 1
