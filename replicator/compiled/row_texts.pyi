from collections.abc import Callable, Sequence

ABI: int

class RowTexts:
    def __init__(
        self,
        sizes: Sequence[int],
        steps: Sequence[tuple[int, int, int, int, bytes, bytes]],
        fields: Sequence[Callable[[bytes], bytes]],
        members: Sequence[int],
        form: tuple[bytes, bytes, bytes, bytes, bytes],
    ) -> None: ...
    def halves(self, images: bytes) -> tuple[bytes, bytes]: ...
    def piece(self, images: bytes, at: int, most_rows: int, most: int) -> tuple[bytes, int, int, bool]: ...
