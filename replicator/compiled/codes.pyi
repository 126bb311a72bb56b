ABI: int
WRITERS: dict[str, int]
READERS: dict[str, int]
TESTS: dict[str, int]
BINARY_TYPES: dict[str, int]
SIGNS: dict[str, int]
