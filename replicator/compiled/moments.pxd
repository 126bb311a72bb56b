# Holds the values of the current event that are the same for all of its rows: times, positions, numbers.

from libc.stdint cimport int64_t, uint64_t

from replicator.compiled.out cimport BEHIND, Out, put_kept, put_signed, unsigned_at
from replicator.compiled.steps cimport (
    EVENT_MS, EVENT_S, NOW_MS, NOW_NS, NOW_US, POS, SERVER_ID, TS_MS, TS_NS, TS_US,
)

ctypedef struct Moment:
    int64_t ts_us
    int64_t now_ns
    int64_t event_s
    int64_t pos
    int64_t server_id
    int64_t thread  # -1: not known
    int64_t flags  # of the row event
    const char* gtid  # JSON
    size_t gtid_size
    const char* file
    size_t file_size

ctypedef struct Time:
    # Digits of a time in nanoseconds; size 0: not written yet.
    int size
    char digits[BEHIND]

ctypedef struct Times:
    Time of[2]


cdef inline int64_t number_of(Moment* moment, int kind) noexcept nogil:
    if kind == TS_MS:
        return moment.ts_us // 1000
    elif kind == TS_US:
        return moment.ts_us
    elif kind == TS_NS:
        return moment.ts_us * 1000
    elif kind == NOW_MS:
        return moment.now_ns // 1000000
    elif kind == NOW_US:
        return moment.now_ns // 1000
    elif kind == NOW_NS:
        return moment.now_ns
    elif kind == EVENT_S:
        return moment.event_s
    elif kind == EVENT_MS:
        return moment.event_s * 1000
    elif kind == POS:
        return moment.pos
    elif kind == SERVER_ID:
        return moment.server_id
    return moment.thread


cdef inline int put_time(Out* out, Times* times, Moment* moment, int kind) noexcept nogil:
    """The first digits of a time in nanoseconds are those of it in microseconds and milliseconds."""
    cdef Time* time = &times.of[kind >= NOW_MS]
    cdef int64_t ns = moment.now_ns if kind >= NOW_MS else moment.ts_us * 1000
    if ns < 1000000:
        return put_signed(out, number_of(moment, kind))
    if time.size == 0:
        time.size = <int>(unsigned_at(time.digits, <uint64_t>ns) - time.digits)
    return put_kept(out, time.digits, time.size - 3 * (2 - kind % 3))
