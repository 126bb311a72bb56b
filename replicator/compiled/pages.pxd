# Gives memory back to the system while its owner still has it, and what the allocator keeps.

cdef extern from *:
    """
    #if defined(__linux__)
    #include <malloc.h>
    #include <stdint.h>
    #include <sys/mman.h>
    #include <unistd.h>
    /* Whole pages alone: what is read there afterwards is zeros. */
    static inline void replicator_release(const void* from, size_t size) {
        uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
        uintptr_t start = ((uintptr_t)from + page) & ~page;
        uintptr_t end = ((uintptr_t)from + size) & ~page;
        if (start < end) madvise((void*)start, end - start, MADV_DONTNEED);
    }
    #else
    #include <stddef.h>
    static inline void replicator_release(const void* from, size_t size) { (void)from; (void)size; }
    #endif
    #if defined(__linux__) && defined(__GLIBC__)
    static inline void replicator_trim(void) { malloc_trim(0); }
    #else
    static inline void replicator_trim(void) { }
    #endif
    """
    void release_pages "replicator_release"(const void*, size_t) nogil
    void trim_heap "replicator_trim"() nogil

cdef enum:
    LARGE = 8388608  # bytes; what is larger is not held twice
