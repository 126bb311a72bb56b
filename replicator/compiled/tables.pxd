# Declarations of the map from table ids to table versions and programs.

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from replicator.compiled.arena cimport Arena

cdef enum:
    TABLES = 64

ctypedef struct Known:
    # A table id of this run.
    uint64_t id
    const char* raw  # NULL: a free place
    Py_ssize_t size
    void* version
    void* programs[3]  # NULL: ask
    uint32_t topics[3]
    void* keys[3]  # programs that write the keys of rows for a watcher; NULL: nobody watches
    uint32_t names[3]  # of the table, in the arena of keys
    bint replicated
    bint guarded  # its version is asked whether a transaction that begins with it is skipped
    void* deferred  # its DeferredProgram; NULL: its records do not wait


cdef class Tables:
    cdef dict ids
    cdef list held
    cdef list taken
    cdef object find_deferred_program
    cdef Arena arena
    cdef Arena noted  # keys of rows that have changed, of tables that are watched; None: none so far
    cdef Known known[TABLES]

    cdef begin(self, Arena arena)
    cdef end(self)
    cdef object deferred_program(self, deferred)
    cdef Known* find(self, uint64_t table_id) noexcept nogil
    cdef bint ask_program(self, Known* known, int operation) noexcept with gil
    cdef int skips(self, Known* known, const uint8_t* p, const uint8_t* end, int operation) noexcept with gil
    cdef bint _take(self, function)
    cdef bint _take_keys(self, Known* known, int operation, keys, str table)
    cdef bint _ask(self, Known* known, uint64_t table_id) noexcept with gil
