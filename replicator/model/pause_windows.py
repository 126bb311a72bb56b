"""Times of the week in which a snapshot reads no rows: parsed, and asked for their end. Times are UTC."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from replicator.errors import ConfigError

DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_DAY: Final = 24 * 60
_WEEK: Final = 7 * _DAY
_TEXT: Final = re.compile(
    rf"((?P<first>{'|'.join(DAYS)})(-(?P<last>{'|'.join(DAYS)}))? )?"
    r"(?P<from>([01]\d|2[0-3]):[0-5]\d)-(?P<to>([01]\d|2[0-3]):[0-5]\d|24:00)"
)


class PauseWindows:
    """
    Args:
        texts: `HH:MM-HH:MM` of each day, or `Mon HH:MM-HH:MM`, `Mon-Fri HH:MM-HH:MM`. One whose end is not behind its
            beginning ends on the next day.

    Raises:
        ConfigError: E1003, a text is none, or no minute of the week is left.
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        covered = bytearray(_WEEK)
        for text in texts:
            for begin, length in _parsed(text):
                for minute in range(begin, begin + length):
                    covered[minute % _WEEK] = 1
        if all(covered):
            raise ConfigError("E1003", "the pause windows cover the whole week", wanted="a time at which rows are read")
        self._covered = bytes(covered)

    def minutes_left(self, minute: int) -> int:
        """Whole minutes from `minute` of the week (0 is Monday, 00:00) to the next one in no window; 0: it is in none.
        Windows that touch are one."""
        left = 0
        while self._covered[(minute + left) % _WEEK]:
            left += 1
        return left

    def end(self, time_s: float) -> float | None:
        """The end of the windows that `time_s` (s since the epoch) is in, in the same unit; None: it is in none."""
        minutes = int(time_s // 60)
        left = self.minutes_left((minutes + 3 * _DAY) % _WEEK)  # the epoch was a Thursday
        return (minutes + left) * 60.0 if left else None


def shown(end_s: float, time_s: float) -> str:
    """`06:00 UTC`; with the day where it is a day or more from `time_s`."""
    minute = int(end_s // 60 + 3 * _DAY) % _WEEK
    text = f"{minute % _DAY // 60:02d}:{minute % 60:02d} UTC"
    return text if end_s - time_s < _DAY * 60 else f"{DAYS[minute // _DAY]} {text}"


def _parsed(text: str) -> list[tuple[int, int]]:
    """(first minute of the week, length) of each day."""
    found = _TEXT.fullmatch(text)
    if found is None or found["from"] == found["to"]:
        raise ConfigError(
            "E1003",
            "a pause window is not one",
            found=repr(text[:50]),
            wanted="HH:MM-HH:MM or Mon-Fri HH:MM-HH:MM, UTC",
        )
    first = DAYS.index(found["first"]) if found["first"] else 0
    last = DAYS.index(found["last"]) if found["last"] else first if found["first"] else 6
    begin, end = _minute(found["from"]), _minute(found["to"])
    length = end - begin if end > begin else end - begin + _DAY
    return [((first + number) % 7 * _DAY + begin, length) for number in range((last - first) % 7 + 1)]


def _minute(text: str) -> int:
    hours, minutes = text.split(":")
    return int(hours) * 60 + int(minutes)
