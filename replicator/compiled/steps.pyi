ABI: int
VARIABLES: dict[str, int]

class Steps: ...
