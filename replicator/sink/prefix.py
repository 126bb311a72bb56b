"""The contiguous acknowledged prefix: the position up to which all records are durable when acknowledgements arrive in
any order.

Pure: numbers go in, positions come out; whoever uses it from two threads brings the lock.
"""

from __future__ import annotations

from collections import deque

from replicator.model.position import Position


class Prefix:
    """Numbers what is sent, notes what is done, and tells the last mark before which nothing is outstanding.

    Memory is bounded by what is outstanding: marks that nothing lies between replace each other.
    """

    def __init__(self) -> None:
        self._next = 0
        self._low = 0  # everything below is done
        self._done: set[int] = set()  # done out of order, above `_low`
        self._marks: deque[tuple[int, Position]] = deque()
        self._acknowledged: Position | None = None

    def sent(self) -> int:
        """The number of the next thing sent."""
        number = self._next
        self._next += 1
        return number

    def done(self, number: int) -> None:
        """`number` is durable. Raises ValueError for a number that is not outstanding: a fault of the caller."""
        if not self._low <= number < self._next or number in self._done:
            raise ValueError(f"{number} is not outstanding")
        self._done.add(number)
        while self._low in self._done:
            self._done.remove(self._low)
            self._low += 1
        self._advance()

    def mark(self, position: Position) -> None:
        """Everything sent so far belongs before `position`."""
        if self._marks and self._marks[-1][0] == self._next:
            self._marks.pop()
        self._marks.append((self._next, position))
        self._advance()

    def _advance(self) -> None:
        while self._marks and self._marks[0][0] <= self._low:
            self._acknowledged = self._marks.popleft()[1]

    @property
    def acknowledged(self) -> Position | None:
        """The last marked position with nothing outstanding before it."""
        return self._acknowledged

    @property
    def outstanding(self) -> int:
        """Sent and not done."""
        return self._next - self._low - len(self._done)

    @property
    def settled(self) -> bool:
        """Nothing outstanding and no mark waiting."""
        return not self._marks and self._low == self._next
