"""Numbers of writers, readers and tests that the planner and the compiled code share, by name; defined in `codes.pxd`."""

ABI = 14


def _by_name(enum):
    return {name.lower(): int(value) for name, value in enum.__members__.items()}


WRITERS = _by_name(Writer)
READERS = _by_name(Reader)
TESTS = _by_name(Test)
BINARY_TYPES = _by_name(BinaryType)
SIGNS = {
    "=": int(EQUAL), "<>": int(DIFFERENT), "<": int(LESS), "<=": int(LESS_OR_EQUAL), ">": int(GREATER),
    ">=": int(GREATER_OR_EQUAL),
}
