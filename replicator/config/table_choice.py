"""Which tables a configuration chooses for snapshots, and which it adds to those of an earlier one. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from replicator.config.kafka_source import KafkaSource
from replicator.config.tables import TableFilter
from replicator.config.task import MySQLSource
from replicator.model.snapshot_orders import TableChoice


def choice_of(source: MySQLSource | KafkaSource) -> TableChoice:
    """Without snapshots (`never`) it counts as if all replicated tables had been read: that their rows are not wanted
    was decided."""
    options = source.snapshots
    chosen = () if not options.first or options.tables == ("*.*",) else options.tables
    return TableChoice(source.tables, chosen, source.online_schema_change == "hide")


def chooser(choice: TableChoice) -> Callable[[str], bool]:
    """Tells whether the choice has a table, `database.table`."""
    replicated = TableFilter(choice.tables, hide_copies=choice.hide_copies)
    snapshot = TableFilter(choice.snapshot or ("*.*",))
    return lambda table: replicated.chooses(table) and snapshot.chooses(table)


def added(known: TableChoice, source: MySQLSource | KafkaSource) -> tuple[str, ...]:
    """Patterns by which a new configuration may choose tables that `known` does not, where it wants their rows. Empty:
    it surely chooses none."""
    options, choice = source.snapshots, choice_of(source)
    if not options.of_added:
        return ()
    found = [*_added(known.tables, choice.tables), *_added(known.snapshot or ("*.*",), choice.snapshot or ("*.*",))]
    # A copy that is named is not hidden, although a pattern of before covers it.
    before, after = chooser(known), chooser(choice)
    found += [name for name in choice.tables if not set(name) & set("!*?") and after(name) and not before(name)]
    if known.hide_copies and not choice.hide_copies:
        found += ["_*_gho", "_*_ghc", "_*_del", "_*_new", "_*_old"]
    return tuple(dict.fromkeys(found))


def _added(before: Iterable[str], after: Iterable[str]) -> list[str]:
    """Patterns that include and that none of before covers, and exceptions that are gone."""
    old, new = list(before), list(after)
    included = [pattern for pattern in old if not pattern.startswith("!")] or ["*.*"]
    excepted = [pattern for pattern in new if pattern.startswith("!")]
    wider = [
        pattern
        for pattern in [pattern for pattern in new if not pattern.startswith("!")] or ["*.*"]
        if not any(_covers(known, pattern) for known in included)
    ]
    gone = [
        pattern[1:]
        for pattern in old
        if pattern.startswith("!") and not any(_covers(known[1:], pattern[1:]) for known in excepted)
    ]
    return [*wider, *gone]


def _covers(wide: str, narrow: str) -> bool:
    """Whether every table of one pattern surely is one of the other: it matches the text of its wildcards, too. A ? can
    match only one character, so it must not meet a *."""
    return wide == narrow or ("?" not in wide and TableFilter((wide,)).matches(*narrow.partition(".")[::2]))
