from collections.abc import Sequence

ABI: int

class Transcoder:
    def __init__(self, sizes: Sequence[int], steps: Sequence[tuple[int, ...]], latin1: Sequence[bytes]) -> None: ...
    def run(self, images: bytes, of_row: int, most: int) -> list[tuple[int, bytes]]: ...
