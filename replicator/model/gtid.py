"""GTID sets of MySQL and GTID positions of MariaDB, as values that are printed as the servers print them.

A MySQL set maps a *tsid*, that is `uuid` or `uuid:tag`, to intervals of sequence numbers. Text: `uuid:1-5:7:tag:1-3`,
uuids joined by commas. Bytes: what COM_BINLOG_DUMP_GTID and PREVIOUS_GTIDS_LOG_EVENT carry; servers from 8.3 on
know a second layout with tags, which is used only when there is a tag (mysql/gtid/gtidset.cpp, `Gtid_set::encode`).
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections.abc import Iterator

from replicator.errors import SourceError

MAX_GNO = (1 << 63) - 2  # the servers' own limit
_UUID = re.compile(r"^\{?([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})\}?$")
_TAG = re.compile(r"^[a-z_][a-z0-9_]{0,31}$")
_INTERVAL = re.compile(r"^(\d{1,19})(?:-(\d{1,19}))?$")
_MARIADB = re.compile(r"^(\d{1,10})-(\d{1,10})-(\d{1,20})$")
_PAIR = struct.Struct("<QQ")


def _refuse(what: str, found: str, wanted: str) -> SourceError:
    return SourceError("E2209", what, found=found[:200], wanted=wanted)


class GtidSet:
    """A MySQL GTID set; changes in place by `add` and `update` only."""

    __slots__ = ("_intervals", "_texts")

    def __init__(self) -> None:
        # tsid -> [[first, last + 1], ...], sorted, with gaps between
        self._intervals: dict[str, list[list[int]]] = {}
        # tsid -> its intervals as text, while they are as they were: the set is printed after each transaction, when
        # only the server's own intervals have changed, be those of others never so many
        self._texts: dict[str, str] = {}

    @classmethod
    def parse(cls, text: str) -> GtidSet:
        """Raises SourceError E2209."""
        result = cls()
        for part in text.lower().split(","):
            tokens = [token.strip() for token in part.split(":")]
            if tokens == [""]:
                continue
            match = _UUID.match(tokens[0])
            if match is None or len(tokens) < 2:
                raise _refuse("invalid GTID set", part.strip(), "uuid:1-5[:tag:1-3],...")
            result._parse_intervals("-".join(match.groups()), tokens[1:])
        return result

    def _parse_intervals(self, uuid: str, tokens: list[str]) -> None:
        tsid, empty = uuid, True
        for token in tokens:
            if _TAG.match(token) and not (empty and tsid != uuid):
                tsid, empty = f"{uuid}:{token}", True
                continue
            match = _INTERVAL.match(token)
            first = int(match[1]) if match else 0
            last = int(match[2] or first) if match else 0
            if not 1 <= first <= last <= MAX_GNO:
                raise _refuse("invalid GTID interval", token, "first-last, from 1 on")
            self._insert(tsid, first, last + 1)
            empty = False
        if empty:
            raise _refuse("a GTID without a sequence number", ":".join([uuid, *tokens]), "uuid:1-5[:tag:1-3],...")

    @classmethod
    def decode(cls, raw: bytes) -> GtidSet:
        """The binary form, both layouts. Raises SourceError E2209."""
        try:
            return cls._decode(raw)
        except (struct.error, IndexError, UnicodeDecodeError):
            raise _refuse("a binary GTID set is truncated", f"{len(raw)} bytes", "whole entries") from None

    @classmethod
    def _decode(cls, raw: bytes) -> GtidSet:
        result = cls()
        count = int.from_bytes(raw[:8], "little")
        tagged = len(raw) >= 8 and raw[7] == 1
        if tagged:
            count = count >> 8 & 0xFFFF_FFFF_FFFF
        at = 8
        for _ in range(count):
            tsid = _format_uuid(raw[at : at + 16])
            at += 16
            if tagged:
                length = raw[at] >> 1
                tag = raw[at + 1 : at + 1 + length].decode("ascii")
                at += 1 + length
                tsid = f"{tsid}:{tag}" if tag else tsid
            (intervals,) = struct.unpack_from("<Q", raw, at)
            at += 8
            for _ in range(intervals):
                first, after = _PAIR.unpack_from(raw, at)
                at += 16
                if not 1 <= first < after <= MAX_GNO + 1:
                    raise _refuse("invalid binary GTID interval", f"{first}-{after}", "first < last")
                result._insert(tsid, first, after)
        if at != len(raw):
            raise _refuse("a binary GTID set has the wrong length", f"{len(raw)} bytes", f"{at} bytes")
        return result

    def encode(self) -> bytes:
        """For COM_BINLOG_DUMP_GTID; with the tagged layout when there is a tag (MySQL 8.3 and later)."""
        tsids = self._sorted()
        tagged = any(":" in tsid for tsid in tsids)
        count = len(tsids)
        out = [struct.pack("<Q", (1 << 56) | (count << 8) | 1 if tagged else count)]
        for tsid in tsids:
            uuid, _, tag = tsid.partition(":")
            out.append(bytes.fromhex(uuid.replace("-", "")))
            if tagged:
                out.append(bytes((len(tag) << 1,)) + tag.encode("ascii"))
            intervals = self._intervals[tsid]
            out.append(struct.pack("<Q", len(intervals)))
            out.extend(_PAIR.pack(first, after) for first, after in intervals)
        return b"".join(out)

    def add(self, tsid: str, gno: int) -> None:
        """Adds one GTID; the successor of the highest one, the usual case, costs next to nothing."""
        self.add_range(tsid, gno, gno)

    def add_range(self, tsid: str, first: int, last: int) -> None:
        """Adds GTIDs with successive numbers; as cheap where they follow the highest one."""
        intervals = self._intervals.get(tsid)
        if intervals is not None and intervals[-1][1] == first:
            self._texts.pop(tsid, None)
            intervals[-1][1] = last + 1
        else:
            self._insert(tsid, first, last + 1)

    def _insert(self, tsid: str, first: int, after: int) -> None:
        self._texts.pop(tsid, None)
        intervals = self._intervals.setdefault(tsid, [])
        low = bisect_right(intervals, first, key=lambda interval: interval[0])
        if low and intervals[low - 1][1] >= first:
            low -= 1
        high = low
        while high < len(intervals) and intervals[high][0] <= after:
            high += 1
        if low < high:
            first, after = min(first, intervals[low][0]), max(after, intervals[high - 1][1])
        intervals[low:high] = [[first, after]]

    def contains(self, tsid: str, gno: int) -> bool:
        intervals = self._intervals.get(tsid, [])
        at = bisect_right(intervals, gno, key=lambda interval: interval[0])
        return at > 0 and gno < intervals[at - 1][1]

    def update(self, other: GtidSet) -> None:
        for tsid, intervals in other._intervals.items():
            for first, after in intervals:
                self._insert(tsid, first, after)

    def union(self, other: GtidSet) -> GtidSet:
        result = self.copy()
        result.update(other)
        return result

    def subtract(self, other: GtidSet) -> GtidSet:
        """What is in this set and not in the other one."""
        result = GtidSet()
        for tsid, intervals in self._intervals.items():
            left = list(_without(intervals, other._intervals.get(tsid, [])))
            if left:
                result._intervals[tsid] = left
        return result

    def count(self) -> int:
        """Number of transactions in the set."""
        return sum(after - first for intervals in self._intervals.values() for first, after in intervals)

    def subset(self, other: GtidSet) -> bool:
        """True when everything of this set is in the other one."""
        return not self.subtract(other)

    def copy(self) -> GtidSet:
        result = GtidSet()
        result._intervals = {tsid: [list(pair) for pair in pairs] for tsid, pairs in self._intervals.items()}
        return result

    def _sorted(self) -> list[str]:
        return sorted(self._intervals)

    def __bool__(self) -> bool:
        return bool(self._intervals)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GtidSet) and self._intervals == other._intervals

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        parts: list[str] = []
        last = ""
        for tsid in self._sorted():
            uuid, _, tag = tsid.partition(":")
            text = self._texts.get(tsid)
            if text is None:
                text = ":".join(f"{a}-{z - 1}" if z - a > 1 else str(a) for a, z in self._intervals[tsid])
                self._texts[tsid] = text
            if uuid == last:
                parts[-1] += f":{tag}:{text}"
            else:
                parts.append(f"{tsid}:{text}")
            last = uuid
        return ",".join(parts)

    def __repr__(self) -> str:
        return f"GtidSet({str(self)!r})"


def _format_uuid(raw: bytes) -> str:
    if len(raw) != 16:
        raise IndexError
    text = raw.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def _without(intervals: list[list[int]], holes: list[list[int]]) -> Iterator[list[int]]:
    """Both are sorted, so that one pass over each is enough."""
    index = 0
    for first, after in intervals:
        at = first
        while index < len(holes) and holes[index][1] <= at:
            index += 1
        look = index
        while look < len(holes) and holes[look][0] < after:
            hole, end = holes[look]
            if hole > at:
                yield [at, hole]
            at = end
            look += 1
        if at < after:
            yield [at, after]


class MariaDBPosition:
    """MariaDB's GTID position: per domain the last transaction, `domain-server-sequence`."""

    __slots__ = ("_domains",)

    def __init__(self) -> None:
        self._domains: dict[int, tuple[int, int]] = {}

    @classmethod
    def parse(cls, text: str) -> MariaDBPosition:
        """Raises SourceError E2209, also for two GTIDs of one domain, as the server does."""
        result = cls()
        for part in text.split(","):
            gtid = part.strip()
            if not gtid:
                continue
            match = _MARIADB.match(gtid)
            domain, server, sequence = (int(group) for group in match.groups()) if match else (1 << 32, 0, 0)
            if domain >= 1 << 32 or server >= 1 << 32 or sequence >= 1 << 64:
                raise _refuse("invalid GTID position", gtid, "domain-server-sequence,...")
            if domain in result._domains:
                raise _refuse("two GTIDs of one domain", text, "one per domain")
            result._domains[domain] = (server, sequence)
        return result

    def add(self, domain: int, server: int, sequence: int) -> None:
        """The transaction is done; it becomes the domain's last one."""
        self._domains[domain] = (server, sequence)

    def contains(self, domain: int, sequence: int) -> bool:
        return domain in self._domains and sequence <= self._domains[domain][1]

    def distance(self, later: MariaDBPosition) -> int:
        """How many sequence numbers `later` is ahead, over all domains."""
        known = {domain: sequence for domain, (_, sequence) in self._domains.items()}
        return sum(max(0, last - known.get(domain, 0)) for domain, (_, last) in later._domains.items())

    def subset(self, other: MariaDBPosition) -> bool:
        return all(other.contains(domain, last) for domain, (_, last) in self._domains.items())

    def union(self, other: MariaDBPosition) -> MariaDBPosition:
        """The later one of each domain."""
        result = self.copy()
        for domain, (server, sequence) in other._domains.items():
            if not result.contains(domain, sequence):
                result._domains[domain] = (server, sequence)
        return result

    def copy(self) -> MariaDBPosition:
        result = MariaDBPosition()
        result._domains = dict(self._domains)
        return result

    def __bool__(self) -> bool:
        return bool(self._domains)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MariaDBPosition) and self._domains == other._domains

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        return ",".join(f"{domain}-{server}-{last}" for domain, (server, last) in sorted(self._domains.items()))

    def __repr__(self) -> str:
        return f"MariaDBPosition({str(self)!r})"
