"""Output of `replicator verify`: progress on a terminal, results as text or JSON."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Final, Self

import click
import msgspec
from rich.console import Console
from rich.live import Live
from rich.text import Text

from replicator.cli.live import Rate
from replicator.cli.task.render import duration
from replicator.cli.terminal import clean, fitting, table
from replicator.model.verification import Result
from replicator.verify.report import Sample, TableResult
from replicator.verify.verifier import Wanted

_REFRESH_S: Final = 0.2
_COLOUR: Final[dict[Result, str]] = {"equal": "green", "differs": "red", "error": "red"}
_WORD: Final[dict[Result, str]] = {
    "equal": "equal",
    "differs": "differs",
    "undecided": "undecided",
    "not_compared": "not compared",
    "error": "error",
}
_HEADER: Final = ("TABLE", "ROWS", "MISSING", "EXTRA", "DIFFERENT", "CHANGING", "TIME", "RESULT")
_IMPORTANCE: Final = ("TABLE", "RESULT", "MISSING", "EXTRA", "DIFFERENT", "ROWS", "CHANGING", "TIME")


class NoLine:
    """An observer that shows nothing, for pipes."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def table(self, wanted: Wanted, number: int, count: int) -> None:
        pass

    def rows(self, rows: int) -> None:
        pass


class ProgressLine(NoLine):
    """One line on stderr: `shop.item, 3 of 7 tables, 42 %, 120000 rows/s, about 27s left`.

    Args:
        expected: rows of all tables, as the source estimates them.
    """

    def __init__(self, expected: int) -> None:
        self._expected, self._rate, self._where = expected, Rate(), ""
        self._shown = 0.0
        self._live = Live(console=Console(stderr=True), auto_refresh=False, transient=True)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def table(self, wanted: Wanted, number: int, count: int) -> None:
        self._where = f"{clean(wanted.table)}, {number + 1} of {count} tables"
        self._live.update(Text(self._where), refresh=True)

    def rows(self, rows: int) -> None:
        rate = self._rate.add(rows)
        if time.monotonic() - self._shown >= _REFRESH_S:
            self._shown = time.monotonic()
            self._live.update(Text(", ".join((self._where, *progress(rows, self._expected, rate)))), refresh=True)


def progress(rows: int, expected: int, rate: float) -> list[str]:
    """Percent, rate and time left. An estimate that was exceeded gives neither percent nor time."""
    parts = [f"{rows} rows"]
    if rows < expected:
        parts.append(f"{100 * rows // expected} %")
    if rate:
        parts.append(f"{rate:.0f} rows/s")
        if rows < expected:
            parts.append(f"about {duration((expected - rows) / rate)} left")
    return parts


def document(task: str, result: Result, results: Sequence[TableResult]) -> str:
    return json.dumps(_made(task, result, results), indent=2, ensure_ascii=False) + "\n"


def line(task: str, result: Result, results: Sequence[TableResult]) -> str:
    """The same in one line."""
    return json.dumps(_made(task, result, results), ensure_ascii=False) + "\n"


def _made(task: str, result: Result, results: Sequence[TableResult]) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "VerifyResult",
        "task": task,
        "result": result,
        "tables": msgspec.to_builtins(results),
    }


def text(results: Sequence[TableResult], limit: int | None) -> str:
    """A line for each table, then details of those that are not plainly equal."""
    rows = [_row(each) for each in results]
    kept = fitting(_HEADER, rows, _IMPORTANCE, limit)
    shown = table([_HEADER[index] for index in kept], [[row[index] for index in kept] for row in rows])
    details = "".join(line + "\n" for each in results for line in _details(each))
    return shown + details


def _row(result: TableResult) -> list[str]:
    counted = (result.rows, result.missing, result.extra, result.different, result.changing)
    word = click.style(_WORD[result.result], fg=_COLOUR.get(result.result, "yellow"))
    return [clean(result.table), *map(str, counted), f"{result.seconds:.1f}s", word]


def _details(result: TableResult) -> list[str]:
    found = []
    if result.note:
        found.append(result.note)
    if result.not_compared:
        found.append(
            "columns not compared: " + ", ".join(f"{name} ({why})" for name, why in result.not_compared.items())
        )
    if result.result in ("differs", "equal", "undecided") and not result.key and result.rows:
        found.append("no key that both sides have: rows were compared as a multiset of hashes")
    if result.stopped:
        found.append("there are more differences than --max-differences; the rest of the table was not compared")
    found += [_sample(each) for each in result.samples]
    if result.written:
        counted = f", {result.repaired} of {result.differences} repaired"
        found.append(f"{result.written} rows " + ("would be written" if result.dry_run else f"written{counted}"))
        found += [f"row {_key(each.key)}: {each.action}" for each in result.repairs]
    more = result.differences - len(result.samples)
    if result.samples and more > 0:
        found.append(f"and {more} more")
    name = clean(result.table) + (f" -> {clean(result.target)}" if result.target != result.table else "")
    return [f"{name}: {clean(line)}" for line in found]


def _sample(sample: Sample) -> str:
    words = {"missing": "missing at the target", "extra": "only at the target", "different": "different"}
    columns = f" in {', '.join(sample.columns)}" if sample.columns else ""
    return f"row {_key(sample.key)}: {words[sample.verdict]}{columns}"


def _key(key: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in key.items())
