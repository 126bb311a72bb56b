"""Records side by side: a peer's and ours, equal to the byte but for what changes from run to run and what a rule
explains."""

from __future__ import annotations

import base64
import gzip
import json
import lzma
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from difflib import SequenceMatcher
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO, Any, Literal

import msgspec

HERE = Path(__file__).parent
OURS = frozenset({"task", "epoch", "position", "row"})
"""Headers that every record of ours has besides its format's."""

_DECODER = json.JSONDecoder()


def documented(format_: str) -> set[str]:
    """What docs/formats.md lists under "Differences from ..." of a format: the first cell of each line."""
    text = (HERE.parent.parent / "docs" / "formats.md").read_text()
    section = text.partition(f"\n## {format_}\n")[2].partition("\n## ")[0]
    part = next(each for each in section.split("\n### ") if each.startswith("Differences from"))
    lines = [line for line in part.splitlines() if line.startswith("| ")]
    return {line.split(" | ")[0].removeprefix("| ") for line in lines} - {"what", "---"}


class Record(msgspec.Struct, frozen=True):
    topic: str
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, str], ...] = ()


class Rule(msgspec.Struct, frozen=True):
    """A difference on purpose.

    Attributes:
        heading: its line in a table of docs/formats.md.
        by: whose the difference is: "default": the peer's own default, which is ours too and which an option of ours
            switches off (such rules count in variations that are `switched` alone); "fault": the peer is wrong or loses
            something; "ours": we chose so.
        columns: patterns (fnmatch) of `database.table.column` that show it; for values in the envelope the last name
            of their path. Of records: patterns of `database.table`.
        explains: (their text, our text) -> whether it is this difference and no other. Of records that only one side
            has: (their text or "", our text or "").
        records: it explains records that only one side has, not values.
        snapshots: it is about rows of snapshots, and counts in variations that have one alone.
    """

    name: str
    heading: str
    reason: str
    by: Literal["default", "fault", "ours"]
    columns: frozenset[str]
    explains: Callable[[str, str], bool]
    records: bool = False
    snapshots: bool = False

    def covers(self, place: str) -> bool:
        return any(fnmatchcase(place, pattern) for pattern in self.columns)


class System(msgspec.Struct, frozen=True):
    """How records of one system are compared.

    Attributes:
        show: a key or a value as text, without what differs from run to run.
        subject: `database.table` that a record is about.
        headers: masks the value of a header (name, value).
    """

    name: str
    show: Callable[[bytes], str]
    subject: Callable[[Record], str]
    rules: tuple[Rule, ...]
    headers: Callable[[str, str], str] = lambda name, value: value


class Variation(msgspec.Struct, frozen=True):
    """One captured run of a system.

    Attributes:
        task: our task's name, so that topics and names are the peer's.
        golden: the packed file, below `data/SYSTEM/`.
        script: below this folder; `leave_out`: its sections that the peer can't read.
        options: of our sink: {"format": .., "topic": .., "debezium": {..}}.
        source: options of our source besides.
        session: statements that the script's session begins with.
        snapshot: the run begins with a snapshot of what the script has left: this and not its binlog is read. Patterns
            of the tables whose rows it has, as in a task; empty: there is none.
        only: what is compared, of theirs and ours.
        switched: our options switch the peer's defaults off, so that rules by "default" are to explain it.
    """

    name: str
    task: str
    golden: str
    script: str
    options: dict[str, Any]
    tables: tuple[str, ...] = ("*.*",)
    leave_out: frozenset[str] = frozenset()
    source: dict[str, Any] = {}
    session: tuple[str, ...] = ()
    snapshot: tuple[str, ...] = ()
    only: Callable[[Record], bool] = lambda record: True
    switched: bool = False

    def __str__(self) -> str:
        return self.name


def load(path: Path) -> list[Record]:
    """Lines as golden has them and the file sink writes them, packed or not."""
    openers: dict[str, Callable[..., IO[Any]]] = {".gz": gzip.open, ".xz": lzma.open}
    opener = openers.get(path.suffix, open)
    with opener(path, "rb") as lines:
        return [_record(json.loads(line)) for line in lines]


def _record(line: dict[str, Any]) -> Record:
    headers = ((each["key"], each["value"]) for each in line["headers"])
    return Record(
        line["topic"], _part(line, "key"), _part(line, "value"), tuple(h for h in headers if h[0] not in OURS)
    )


def _part(line: dict[str, Any], name: str) -> bytes | None:
    if f"{name}_base64" in line:
        return base64.b64decode(line[f"{name}_base64"])
    text = line[name]
    return None if text is None else text.encode()


class Report:
    """What a comparison found.

    Attributes:
        equal, ruled: records that are equal; that differ by rules only, or that a rule says one side lacks.
        different: what no rule explains, for people.
        used: names of the rules that were needed, with the number of times.
    """

    def __init__(self, system: System, *, switched: bool = False, snapshot: bool = False) -> None:
        self.equal = self.ruled = 0
        self.different: list[str] = []
        self.used: Counter[str] = Counter()
        self._system = system
        self._rules = tuple(
            rule for rule in system.rules if (switched or rule.by != "default") and (snapshot or not rule.snapshots)
        )

    def compare(self, theirs: Iterable[Record], ours: Iterable[Record]) -> Report:
        """Topic by topic, in order within each."""
        mine, yours = _by_topic(ours), _by_topic(theirs)
        for topic in sorted({*mine, *yours}):
            self._topic(topic, yours.get(topic, []), mine.get(topic, []))
        return self

    def _topic(self, topic: str, theirs: list[Record], ours: list[Record]) -> None:
        yours, mine = list(map(self._shown, theirs)), list(map(self._shown, ours))
        if list(map(self._system.subject, theirs)) == list(map(self._system.subject, ours)):  # nothing to be aligned
            for number in range(len(yours)):
                self._record(f"{topic}[{number}]", (theirs[number], yours[number]), (ours[number], mine[number]))
            return
        for kind, a, b, c, d in SequenceMatcher(None, yours, mine, autojunk=False).get_opcodes():
            if kind == "equal":
                self.equal += b - a
            else:
                first = list(zip(theirs[a:b], yours[a:b], strict=True))
                self._block(f"{topic}[{a}]", first, list(zip(ours[c:d], mine[c:d], strict=True)))

    def _shown(self, record: Record) -> tuple[str | None, ...]:
        show, mask = self._system.show, self._system.headers
        headers = "".join(f"{name}: {mask(name, value)}\n" for name, value in record.headers)
        return (
            None if record.key is None else show(record.key),
            None if record.value is None else show(record.value),
            headers,
        )

    def _block(self, where: str, theirs: list[_Shown], ours: list[_Shown]) -> None:
        """Records that are not equal; where their numbers differ, those that a rule says one side lacks are left out
        first."""
        if len(theirs) != len(ours):
            theirs, ours = self._without(theirs, 0), self._without(ours, 1)
        if len(theirs) != len(ours):
            self.different.append(f"{where}: {len(theirs)} records of theirs, {len(ours)} of ours")
            self.different.extend(f"  theirs: {text}"[:1000] for _, text in theirs)
            self.different.extend(f"  ours:   {text}"[:1000] for _, text in ours)
            return
        for number, (their, our) in enumerate(zip(theirs, ours, strict=True)):
            self._record(f"{where[:-1]}+{number}]", their, our)

    def _without(self, records: list[_Shown], side: int) -> list[_Shown]:
        kept = []
        for record, shown in records:
            text = shown[1] or ""
            texts = (text, "") if side == 0 else ("", text)
            rule = self._rule(self._system.subject(record), *texts, records=True)
            if rule is None:
                kept.append((record, shown))
            else:
                self.used[rule.name] += 1
                self.ruled += 1
        return kept

    def _record(self, where: str, their: _Shown, our: _Shown) -> None:
        if their[1] == our[1]:
            self.equal += 1
            return
        found: list[tuple[str, str, str]] = []
        subject = self._system.subject(our[0])
        for part, one, other in zip(("key", "value", "headers"), their[1], our[1], strict=True):
            if one is None or other is None or part == "headers":
                if one != other:
                    found.append((part, str(one), str(other)))
            else:
                found.extend((f"{part}/{path}", a, b) for path, a, b in differences(one, other))
        unexplained = 0
        for path, one, other in found:
            rule = self._rule(f"{subject}.{_column(path)}", one, other)
            if rule is None:
                unexplained += 1
                self.different.append(f"{where} {subject} {path}:\n  theirs: {one[:600]}\n  ours:   {other[:600]}")
            else:
                self.used[rule.name] += 1
        if not unexplained:
            self.ruled += 1

    def _rule(self, place: str, theirs: str, ours: str, *, records: bool = False) -> Rule | None:
        for rule in self._rules:
            if rule.records == records and rule.covers(place) and _explains(rule, theirs, ours):
                return rule
        return None


_Shown = tuple[Record, tuple["str | None", ...]]


def _column(path: str) -> str:
    """The last name in it that is none of an array's numbers."""
    return next((part for part in reversed(path.split("/")) if not part.isdigit()), path)


def _explains(rule: Rule, theirs: str, ours: str) -> bool:
    try:
        return rule.explains(theirs, ours)
    except (ValueError, LookupError, TypeError, OverflowError):
        return False  # not of the kind that the rule is about


def _by_topic(records: Iterable[Record]) -> dict[str, list[Record]]:
    topics: dict[str, list[Record]] = {}
    for record in records:
        topics.setdefault(record.topic, []).append(record)
    return topics


def members(text: str) -> list[tuple[str, str]]:
    """(name, exact text of the value) of a JSON object; of an array, with the number as name."""
    found: list[tuple[str, str]] = []
    at = 1
    while text[at] not in "}]":
        at += text[at] == ","
        name = str(len(found))
        if text[0] == "{":
            name, at = _DECODER.raw_decode(text, at)
            at += 1
        _, end = _DECODER.raw_decode(text, at)
        found.append((name, text[at:end]))
        at = end
    return found


def differences(theirs: str, ours: str) -> Iterator[tuple[str, str, str]]:
    """(path, their text, our text) of every value that differs, however deep it stands."""
    if theirs == ours:
        return
    if theirs[:1] != ours[:1] or theirs[:1] not in ("{", "["):
        yield "", theirs, ours
        return
    mine, yours = members(ours), members(theirs)
    if [name for name, _ in mine] != [name for name, _ in yours]:
        yield "", theirs, ours
        return
    for (name, our_text), (_, their_text) in zip(mine, yours, strict=True):
        for path, one, other in differences(their_text, our_text):
            yield f"{name}/{path}".rstrip("/"), one, other
