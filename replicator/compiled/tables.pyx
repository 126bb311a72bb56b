"""Maps table ids to table versions and programs during one run of `Loop`."""

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memset
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE

from replicator.compiled.deferred_fields cimport DeferredProgram
from replicator.compiled.program cimport Program

ABI = 14


cdef class Tables:
    """Programs are held by a list and known by their addresses: a reference would need the interpreter.

    Attributes:
        ids: table id -> version.
        find_deferred_program: `DeferredText` -> its `DeferredProgram`; None where there is none.
    """

    def __cinit__(self):
        self.held = []
        self.taken = []

    cdef begin(self, Arena arena):
        self.arena = arena
        self.held.clear()
        memset(self.known, 0, sizeof(self.known))

    cdef end(self):
        """The run is over: others may use its programs."""
        for program in self.taken:
            (<Program>program).busy = False
        self.taken.clear()
        self.held.clear()

    cdef object deferred_program(self, deferred):
        """Held until the run is over; None where there is none."""
        program = self.find_deferred_program(deferred)
        if type(program) is not DeferredProgram:
            return None
        self.held.append(program)
        return program

    cdef Known* find(self, uint64_t table_id) noexcept nogil:
        """NULL: not known to Python either."""
        cdef Known* known = self.known + (table_id & (TABLES - 1))
        if known.raw != NULL and known.id == table_id:
            return known
        return known if self._ask(known, table_id) else NULL

    cdef bint _ask(self, Known* known, uint64_t table_id) noexcept with gil:
        cdef bytes raw
        cdef DeferredProgram program
        try:
            version = self.ids.get(table_id)
            if version is None:
                return False
            raw = version.raw
            self.held.append((version, raw))
            memset(known, 0, sizeof(Known))
            known.id, known.size = table_id, PyBytes_GET_SIZE(raw)
            known.version = <void*>version
            known.replicated = version.plan is not None
            known.guarded = version.guard is not None
            deferred = version.deferred
            if deferred is not None:
                program = self.deferred_program(deferred)
                if program is None:
                    return False
                known.deferred = <void*>program
            known.raw = PyBytes_AS_STRING(raw)
            return True
        except Exception:
            return False

    cdef int skips(self, Known* known, const uint8_t* p, const uint8_t* end, int operation) noexcept with gil:
        """Whether the transaction that begins with this row event is skipped; -1: Python says what is wrong with it.
        `p`: its column count."""
        try:
            guard = (<object>known.version).guard
            return 1 if guard(PyBytes_FromStringAndSize(<const char*>p, end - p), 0, operation) else 0
        except Exception:
            return -1

    cdef bint ask_program(self, Known* known, int operation) noexcept with gil:
        """Whether the version's function is a program, and nobody else runs it at this moment. That of a table that is
        watched has `compiled_parts`: the function, what writes the keys of its rows, the table; or None."""
        try:
            function = (<object>known.version).functions[operation]
            if type(function) is not Program:
                ask = getattr(function, "compiled_parts", None)
                parts = None if ask is None else ask()
                if parts is None:
                    return False
                function, keys, table = parts
                if not self._take_keys(known, operation, keys, table):
                    return False
            if not self._take(function):
                return False
            known.topics[operation] = self.arena.topic_id((<Program>function).topic)
            known.programs[operation] = <void*>function
            return True
        except Exception:
            return False

    cdef bint _take_keys(self, Known* known, int operation, keys, str table):
        if not self._take(keys):
            return False
        if self.noted is None:
            self.noted = Arena()
        known.names[operation] = self.noted.topic_id(table)
        known.keys[operation] = <void*>keys
        return True

    cdef bint _take(self, function):
        cdef Program program
        if type(function) is not Program:
            return False
        program = function
        if program.busy and not any([taken is program for taken in self.taken]):
            return False
        program.busy = True
        self.taken.append(program)
        return True
