# Writes the texts that are the same for all rows of an event: literals and variables.

from replicator.compiled.avro cimport put_json
from replicator.compiled.codes cimport NO_AVRO, PROTO_NUMBER
from replicator.compiled.moments cimport Moment, Times, number_of, put_time
from replicator.compiled.out cimport BEHIND, OK, Out, put, put_kept, put_signed, reserve
from replicator.compiled.protobuf cimport put_field
from replicator.compiled.steps cimport FILE, GTID, LITERAL, NOW_NS, POSITION, Step, THREAD, UNCHECKED

cdef enum:
    NO_FOREIGN_KEYS = 0x12  # flags of a row event: see model.plan.Variable


cdef inline int put_texts(
    Out* same, size_t* ends, int count, const int* firsts, Step* pieces, Moment* moment, Out* json
) noexcept nogil:
    """firsts: the first piece of each text, and behind the last; ends: where each text ends in `same`. `json`: for a value
    that becomes binary."""
    cdef Out* out
    cdef Times times
    cdef Step* piece
    cdef int text, at, kind, status
    cdef bint null
    times.of[0].size = times.of[1].size = 0
    same.used = 0
    for text in range(count):
        for at in range(firsts[text], firsts[text + 1]):
            piece = pieces + at
            kind = piece.kind
            null = (kind == GTID and moment.gtid_size == 4) or (kind == THREAD and moment.thread < 0)
            null = null or (kind == UNCHECKED and not moment.flags & NO_FOREIGN_KEYS)
            if piece.not_null and null:
                continue
            out = same if piece.leaf.type == NO_AVRO else json
            json.used = 0
            status = put_kept(out, piece.text, piece.size) if piece.leaf.type < PROTO_NUMBER else OK
            if kind == LITERAL or status != OK:
                pass
            elif kind <= NOW_NS:
                status = put_time(out, &times, moment, kind)
            elif kind == GTID:
                status = put(out, moment.gtid, moment.gtid_size)
            elif kind == FILE:
                status = put(out, moment.file, moment.file_size)
            elif null:
                status = put(out, "null", 4)
            elif kind == UNCHECKED:
                pass
            elif kind == POSITION:
                status = put(out, moment.file, moment.file_size - 1)
                if status == OK:
                    status = put(out, ":", 1)
                if status == OK:
                    status = put_signed(out, moment.pos)
                if status == OK:
                    status = put(out, '"', 1)
            else:
                status = put_signed(out, number_of(moment, kind))
            if status == OK and piece.leaf.type >= PROTO_NUMBER:
                status = put_field(same, &piece.leaf, piece.text, piece.size, json)
            elif status == OK and piece.leaf.type != NO_AVRO:
                status = put_json(same, &piece.leaf, json.base, json.used)
            if status != OK:
                return status
        ends[text] = same.used
    return reserve(same, BEHIND)
