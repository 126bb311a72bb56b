# Computes the CRC-32 of events (IEEE 802.3, as zlib): by carry-less multiplication if the CPU supports it, otherwise from
# tables.

from libc.stdint cimport uint8_t, uint32_t

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>

    static uint32_t REPLICATOR_CRC[8][256];

    /* Of `size` bytes that come behind others, whose checksum is `crc`; 0 when there are none. The other way, too. */
    static uint32_t replicator_crc_sliced(uint32_t crc, const uint8_t *p, size_t size)
    {
        uint64_t eight;
        crc = ~crc;
        for (; size >= 8; p += 8, size -= 8) {
            memcpy(&eight, p, 8);
            eight ^= crc;
            crc = REPLICATOR_CRC[7][eight & 255] ^ REPLICATOR_CRC[6][eight >> 8 & 255]
                ^ REPLICATOR_CRC[5][eight >> 16 & 255] ^ REPLICATOR_CRC[4][eight >> 24 & 255]
                ^ REPLICATOR_CRC[3][eight >> 32 & 255] ^ REPLICATOR_CRC[2][eight >> 40 & 255]
                ^ REPLICATOR_CRC[1][eight >> 48 & 255] ^ REPLICATOR_CRC[0][eight >> 56];
        }
        for (; size; p++, size--)
            crc = REPLICATOR_CRC[0][(crc ^ *p) & 255] ^ crc >> 8;
        return ~crc;
    }

    #if defined(__x86_64__) && defined(__GNUC__)
    #include <immintrin.h>
    #define REPLICATOR_FOLDING __attribute__((target("pclmul,ssse3")))

    /* Gopal and others, "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction", Intel, 2009.

       16 bytes are a polynomial of 128 coefficients, the highest first: in bit 0 of the register. What stands n bits in
       front of its place is multiplied by x^n mod P to get there, each half of it by a power of its own; the register
       holds a product one place too low, and a factor of 32 bits stands at the end of its 64. So the factors are
       x^(n + 32) and x^(n - 32) mod P, their bits turned round, shifted by one. */
    REPLICATOR_FOLDING static inline __m128i replicator_fold(__m128i x, __m128i factors, __m128i place)
    {
        __m128i higher = _mm_clmulepi64_si128(x, factors, 0x00);
        __m128i lower = _mm_clmulepi64_si128(x, factors, 0x11);
        return _mm_xor_si128(_mm_xor_si128(higher, place), lower);
    }

    REPLICATOR_FOLDING static inline __m128i replicator_16(const uint8_t *p)
    {
        return _mm_loadu_si128((const __m128i *)p);
    }

    /* Loaded from `n` on: a mask that moves bytes up by 16 - n places, above 16 down by n - 16; zeros come after them. */
    static const uint8_t REPLICATOR_SHIFT[48] = {
        128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128,
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
        128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128,
    };

    /* At least 16 bytes. */
    REPLICATOR_FOLDING static uint32_t replicator_crc_folded(uint32_t crc, const uint8_t *p, size_t size)
    {
        const __m128i by_128 = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
        const __m128i by_512 = _mm_set_epi64x(0x1c6e41596, 0x154442bd4);
        const __m128i by_64 = _mm_set_epi64x(0, 0x163cd6124);
        const __m128i divide = _mm_set_epi64x(0x1f7011641, 0x1db710641); /* x^64 / P, and P */
        const __m128i words = _mm_set_epi32(0, -1, 0, -1);
        __m128i start = _mm_cvtsi32_si128((int)~crc);
        __m128i x, x1, x2, x3, quotient;
        size_t odd = size & 15;
        size_t blocks = size / 16 - 1;

        /* Zeros in front of everything change nothing: the odd bytes are the end of a first block, and no tail is left. */
        x = _mm_shuffle_epi8(_mm_xor_si128(replicator_16(p), start), replicator_16(REPLICATOR_SHIFT + odd));
        start = _mm_shuffle_epi8(start, replicator_16(REPLICATOR_SHIFT + 16 + odd));
        x = replicator_fold(x, by_128, _mm_xor_si128(replicator_16(p + odd), start));
        p += 16 + odd;

        if (blocks >= 7) { /* four at a time do not wait for each other */
            x1 = replicator_16(p), x2 = replicator_16(p + 16), x3 = replicator_16(p + 32);
            for (p += 48, blocks -= 3; blocks >= 4; p += 64, blocks -= 4) {
                x = replicator_fold(x, by_512, replicator_16(p));
                x1 = replicator_fold(x1, by_512, replicator_16(p + 16));
                x2 = replicator_fold(x2, by_512, replicator_16(p + 32));
                x3 = replicator_fold(x3, by_512, replicator_16(p + 48));
            }
            x = replicator_fold(x, by_128, x1);
            x = replicator_fold(x, by_128, x2);
            x = replicator_fold(x, by_128, x3);
        }
        for (; blocks; p += 16, blocks--)
            x = replicator_fold(x, by_128, replicator_16(p));

        /* Times x^32: 96 bits, then 64. Of those the remainder, as Barrett divides. */
        x = _mm_xor_si128(_mm_clmulepi64_si128(x, by_128, 0x10), _mm_srli_si128(x, 8));
        x = _mm_xor_si128(_mm_clmulepi64_si128(_mm_and_si128(x, words), by_64, 0x00), _mm_srli_si128(x, 4));
        quotient = _mm_and_si128(_mm_clmulepi64_si128(_mm_and_si128(x, words), divide, 0x10), words);
        x = _mm_xor_si128(x, _mm_clmulepi64_si128(quotient, divide, 0x00));
        return ~(uint32_t)_mm_cvtsi128_si32(_mm_srli_si128(x, 4));
    }

    static int replicator_can_fold(void)
    {
        return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("ssse3");
    }
    #else
    #define replicator_crc_folded replicator_crc_sliced
    static int replicator_can_fold(void) { return 0; }
    #endif

    static int REPLICATOR_FOLDS;

    static void replicator_crc_begin(void)
    {
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t c = i;
            for (int k = 0; k < 8; k++) c = c & 1 ? 0xEDB88320u ^ (c >> 1) : c >> 1;
            REPLICATOR_CRC[0][i] = c;
        }
        for (int t = 1; t < 8; t++)
            for (uint32_t i = 0; i < 256; i++)
                REPLICATOR_CRC[t][i] = (REPLICATOR_CRC[t - 1][i] >> 8) ^ REPLICATOR_CRC[0][REPLICATOR_CRC[t - 1][i] & 255];
        REPLICATOR_FOLDS = replicator_can_fold();
    }
    """
    int REPLICATOR_FOLDS
    void replicator_crc_begin() noexcept nogil
    uint32_t replicator_crc_sliced(uint32_t crc, const uint8_t* p, size_t size) noexcept nogil
    uint32_t replicator_crc_folded(uint32_t crc, const uint8_t* p, size_t size) noexcept nogil


cdef inline uint32_t crc32(uint32_t crc, const uint8_t* p, size_t size) noexcept nogil:
    """Of bytes behind those whose checksum is `crc`. `replicator_crc_begin` comes first, once. Little-endian machines."""
    if REPLICATOR_FOLDS and size >= 16:
        return replicator_crc_folded(crc, p, size)
    return replicator_crc_sliced(crc, p, size)
