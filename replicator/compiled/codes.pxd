# Numbers that the planner (`decode/native`) and the compiled code share: their single definition. The planner reads them by
# name, through `codes.pyx`.

cpdef enum Writer:
    # How a value is written. `a`, `b`, `text`: parameters.
    BY_PYTHON = 0
    REMEMBERED = 1  # by the twin once per value; of at most 8 bytes
    SIGNED = 2
    UNSIGNED = 3
    DECIMAL_BASE64 = 4  # a: precision, b: scale, here and in the other decimals
    DECIMAL_NUMBER = 5
    DECIMAL_STRING = 6
    DOUBLE_JAVA = 7  # a: between quotes, in the next one too
    FLOAT_JAVA = 8
    TEXT_UTF8 = 9  # a: style
    TEXT_ASCII = 10
    BASE64 = 11  # a: bytes with the zeros that the binlog cuts off, here and in HEX, LATIN1; b: URL-safe
    DATE_DAYS = 12  # a: WINDOWED or 0; text: for dates that are none, here and in the next two
    DATETIME_EPOCH = 13  # a: digits and WINDOWED, b: units in a second
    TIMESTAMP_ISO = 14  # a: digits
    TIME_US = 15  # a: digits
    JSON_STRING = 16  # a: style of the document, b: of the string
    JSON_TEXT = 17  # a: style
    SIGNED_STRING = 18
    UNSIGNED_STRING = 19
    BIG_UNSIGNED = 20  # a: between quotes
    DECIMAL_JAVA = 21
    DATETIME_TEXT = 22  # a: digits, b: null for dates that have a zero, in the next one and in DATE_TEXT too
    TIMESTAMP_TEXT = 23
    TIME_TEXT = 24  # a: digits
    DATE_TEXT = 25
    DATE_ISO = 26  # as DATE_DAYS
    DATETIME_NS = 27  # as DATETIME_EPOCH
    DATETIME_ISO = 28
    TIME_MS = 29  # a: digits, b: null for what is no time of day, in TIME_ISO too
    TIME_NS = 30
    TIME_ISO = 31
    HEX = 32
    LATIN1 = 33
    BIT_BASE64 = 34
    UNSCALED = 35
    BOOLEAN = 36
    CONSTANT = 37  # text
    BEYOND = 38  # text: a bytes for numbers above b, then what others get

cpdef enum Reader:
    # How a filter reads a value. `a`, `b`: parameters.
    PYTHON = 0
    SIGNED_KEY = 1
    UNSIGNED_KEY = 2
    WIDE_KEY = 3  # unsigned, of 64 bits
    BITS = 4  # the same, highest byte first
    YEAR_KEY = 5
    DECIMAL_KEY = 6  # a: digits, at most 18; b: scale
    FLOAT_KEY = 7
    DOUBLE_KEY = 8
    DATE_KEY = 9
    DATETIME_KEY = 10
    TIMESTAMP_KEY = 11
    TIME_KEY = 12
    CHARACTERS = 13  # UTF-8
    PLAIN_ASCII = 14  # text in another character set, where it is ASCII
    BYTES = 15  # a: how many there are with the zeros that the binlog cuts off
    MEMBER = 16  # of an ENUM; a: how many it has

cpdef enum Test:
    # A test of a filter. `sign`: a `Sign`.
    ALL = 0
    ANY = 1
    TRUE_TEST = 2
    FALSE_TEST = 3
    NULL_TEST = 4
    NOT_NULL = 5
    NUMBER_TEST = 6  # a comparison with a constant
    WIDE_TEST = 7
    REAL_TEST = 8
    BYTES_TEST = 9
    NUMBERS = 10  # whether it is one of a list
    WIDES = 11
    REALS = 12
    TEXTS = 13
    MEMBER_TEST = 14
    LIKE = 15
    COLUMNS = 16  # a comparison of two columns

cpdef enum Sign:
    EQUAL = 0
    DIFFERENT = 1
    LESS = 2
    LESS_OR_EQUAL = 3
    GREATER = 4
    GREATER_OR_EQUAL = 5

cpdef enum BinaryType:
    # What a value is in a binary record.
    NO_AVRO = 0  # the record is text
    AVRO_INT = 1
    AVRO_LONG = 2
    AVRO_FLOAT = 3
    AVRO_DOUBLE = 4
    AVRO_BOOLEAN = 5
    AVRO_STRING = 6
    AVRO_BYTES = 7
    AVRO_WRITTEN = 8  # by Python, the union's branch included
    PROTO_NUMBER = 9  # a field of a protobuf message: a number of up to 64 bits, here without a sign
    PROTO_TEXT = 10  # behind its length
