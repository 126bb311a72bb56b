# CRC-32 of events (IEEE 802.3, as zlib's), eight bytes at a time.

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

cdef extern from *:
    """
    static unsigned int REPLICATOR_CRC[8][256];
    static void replicator_crc_fill(void) {
        for (unsigned int i = 0; i < 256; i++) {
            unsigned int c = i;
            for (int k = 0; k < 8; k++) c = c & 1 ? 0xEDB88320u ^ (c >> 1) : c >> 1;
            REPLICATOR_CRC[0][i] = c;
        }
        for (unsigned int i = 0; i < 256; i++)
            for (int t = 1; t < 8; t++)
                REPLICATOR_CRC[t][i] = (REPLICATOR_CRC[t - 1][i] >> 8) ^ REPLICATOR_CRC[0][REPLICATOR_CRC[t - 1][i] & 255];
    }
    """
    uint32_t REPLICATOR_CRC[8][256]
    void replicator_crc_fill() noexcept nogil


cdef inline uint32_t crc32(const uint8_t* p, size_t size) noexcept nogil:
    """`replicator_crc_fill` comes first, once. Little-endian machines."""
    cdef uint32_t crc = 0xFFFFFFFF
    cdef uint64_t eight
    while size >= 8:
        memcpy(&eight, p, 8)
        eight ^= crc
        crc = (
            REPLICATOR_CRC[7][eight & 255] ^ REPLICATOR_CRC[6][eight >> 8 & 255]
            ^ REPLICATOR_CRC[5][eight >> 16 & 255] ^ REPLICATOR_CRC[4][eight >> 24 & 255]
            ^ REPLICATOR_CRC[3][eight >> 32 & 255] ^ REPLICATOR_CRC[2][eight >> 40 & 255]
            ^ REPLICATOR_CRC[1][eight >> 48 & 255] ^ REPLICATOR_CRC[0][eight >> 56]
        )
        p += 8
        size -= 8
    while size:
        crc = REPLICATOR_CRC[0][(crc ^ p[0]) & 255] ^ crc >> 8
        p += 1
        size -= 1
    return ~crc
