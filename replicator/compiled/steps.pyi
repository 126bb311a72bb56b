ABI: int
WRITERS: dict[str, int]
VARIABLES: dict[str, int]

class Steps: ...
