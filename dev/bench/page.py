"""Writes docs/performance.md: text from page.md, figures from build/bench.json."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

from dev.bench.report import Entry
from dev.bench.sections import DELIVERIES, FORMATS
from dev.paths import TREE

PAGE = TREE / "docs" / "performance.md"
TEXT = Path(__file__).with_name("page.md")

Entries = dict[str, Entry]


class Wanted(NamedTuple):
    """What a figure should be: at least or at most `bound`."""

    what: str
    name: str
    least: bool
    bound: float
    unit: str


WANTED = (
    Wanted("rows/s against the plain packages, 10,000-row transactions", "plain.tx10000", True, 40, "x"),
    Wanted("rows/s against the plain packages, 1-row transactions", "plain.tx1", True, 60, "x"),
    Wanted("rows/s against Debezium tuned, 10,000-row transactions", "debezium.tx10000", True, 5, "x"),
    Wanted("rows/s against Debezium tuned, 1-row transactions", "debezium.tx1", True, 10, "x"),
    Wanted("CPU per row against Debezium, 10,000-row transactions", "debezium_cpu.tx10000", False, 1 / 8, "x"),
    Wanted("CPU per row against Debezium, 1-row transactions", "debezium_cpu.tx1", False, 1 / 15, "x"),
    Wanted("CPU per row, format maxwell, 10,000-row transactions", "cpu_us.maxwell.tx10000", False, 5, "us"),
    Wanted("CPU per row, format maxwell, 1-row transactions", "cpu_us.maxwell.tx1", False, 8, "us"),
    Wanted("CPU per row, format debezium, 10,000-row transactions", "cpu_us.debezium.tx10000", False, 7, "us"),
    Wanted("CPU per row, format debezium, 1-row transactions", "cpu_us.debezium.tx1", False, 10, "us"),
    Wanted("share of mysqlbinlog --raw, 10,000-row transactions", "raw.tx10000", True, 0.08, "x"),
    Wanted("share of mysqlbinlog --raw, 1-row transactions", "raw.tx1", True, 0.8, "x"),
    Wanted("latency at 100/s, at_least_once, p50", "latency_ms.at_least_once.p50", False, 1.5, "ms"),
    Wanted("latency at 100/s, at_least_once, p99", "latency_ms.at_least_once.p99", False, 5, "ms"),
    Wanted("latency at 100/s, at_least_once, p99.9", "latency_ms.at_least_once.p999", False, 20, "ms"),
    Wanted("latency at 100/s, exactly_once, p50", "latency_ms.exactly_once.p50", False, 3, "ms"),
    Wanted("latency at 100/s, exactly_once, p99", "latency_ms.exactly_once.p99", False, 10, "ms"),
    Wanted("first record after the start of a worker", "first_record_s", False, 0.5, "s"),
    Wanted("memory of an idle worker, its own pages", "worker_idle_private_mb", False, 15, "MB"),
    Wanted("memory of a worker with a backlog", "worker_backlog_pss_mb", False, 150, "MB"),
    Wanted("memory over one transaction of 200,000 rows", "memory_tx200000", False, 150, "MB"),
    Wanted("lease, checkpoints and metrics, 1-row transactions", "guards.tx1", False, 2, "% CPU"),
    Wanted("lease, checkpoints and metrics, 10,000-row transactions", "guards.tx10000", False, 2, "% CPU"),
    Wanted("the same in rows/s, 1-row transactions", "guards_rate.tx1", False, 2, "% rows/s"),
    Wanted("the same in rows/s, 10,000-row transactions", "guards_rate.tx10000", False, 2, "% rows/s"),
    Wanted("the same by their own clocks, 1-row transactions", "guards_counted.tx1", False, 2, "% CPU"),
    Wanted("the same by their own clocks, 10,000-row transactions", "guards_counted.tx10000", False, 2, "% CPU"),
    Wanted("snapshot, format debezium, against Debezium tuned", "snapshot.debezium", True, 8, "x"),
    Wanted("snapshot, format maxwell, against Debezium tuned", "snapshot.maxwell", True, 12, "x"),
    Wanted("snapshot, share of mysqldump to /dev/null", "snapshot.dump", True, 0.4, "x"),
    Wanted("snapshot, CPU per row", "snapshot.cpu_us", False, 2.5, "us"),
    Wanted("snapshot, memory of the worker", "snapshot.memory_mb", False, 150, "MB"),
    Wanted("rows/s into MySQL against its replica, 1-row transactions", "apply.replica.tx1", True, 15, "x"),
    Wanted("rows/s into MySQL against its replica, 10,000-row transactions", "apply.replica.tx10000", True, 1.5, "x"),
    Wanted("the same in the source's order, 1-row transactions", "apply.in_order.tx1", True, 6, "x"),
    Wanted("the same in the source's order, 10,000-row transactions", "apply.in_order.tx10000", True, 0.8, "x"),
    Wanted("CPU per row into MySQL, 1-row transactions", "apply.cpu_us.tx1", False, 2.5, "us"),
    Wanted("CPU per row into MySQL, 10,000-row transactions", "apply.cpu_us.tx10000", False, 1.5, "us"),
    Wanted("latency into MySQL at 1,000 transactions/s, p99", "apply.latency_ms.p99", False, 50, "ms"),
    Wanted("stream during a snapshot at 1,000/s, highest latency", "snapshot.stream_lag_ms", False, 1000, "ms"),
    Wanted("switchover under load, p99", "switchover_s.p99", False, 1, "s"),
    Wanted("take-over after SIGKILL, T = 4 s, p50", "takeover_s.p50", False, 5, "s"),
    Wanted("take-over after SIGKILL, T = 4 s, p99", "takeover_s.p99", False, 7, "s"),
)


def number(value: float | None) -> str:
    if value is None:
        return "-"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"


def _value(entries: Entries, name: str) -> str:
    return number(entries[name].value) if name in entries else "-"


def _rows(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [header, ("---",) * len(header), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def machine(entries: Entries) -> str:
    return "\n".join(
        f"- {name.removeprefix('fact.')}: {each.reason}" for name, each in entries.items() if "fact." in name
    )


def wanted(entries: Entries) -> str:
    rows = []
    for want in WANTED:
        found = entries.get(want.name)
        bound = f"{'>=' if want.least else '<='} {number(want.bound)} {want.unit}"
        if found is None or found.value is None:
            rows.append((want.what, bound, found.reason if found is not None else "not measured", ""))
            continue
        met = found.value >= want.bound if want.least else found.value <= want.bound
        rows.append((want.what, bound, f"{number(found.value)} {want.unit}", "yes" if met else "**no**"))
    return _rows(("figure", "wanted", "measured", "met"), rows)


def paths(entries: Entries) -> str:
    names = {
        **{form: f"ours, format {form}" for form in FORMATS},
        "twin": "ours, the decoder in Python",
        "nowhere": "ours, rendered and dropped",
        "plain": "the plain packages, as their manuals show them",
        "debezium.steady": "ours next to Debezium, from the first tenth on",
        "debezium.peer": "Debezium, tuned, from the first tenth on",
        "mysqlbinlog": "mysqlbinlog --raw",
        "socket": "our reader of the protocol, into a file",
    }
    columns = [f"{kind}.{{}}.{size}" for size in ("tx1", "tx10000") for kind in ("rate", "cpu_us")]
    rows = [
        (what, *(_value(entries, column.format(name)) for column in columns))
        for name, what in names.items()
        if f"rate.{name}.tx1" in entries or f"rate.{name}.tx10000" in entries
    ]
    header = ("path", "rows/s, 1-row transactions", "CPU us/row", "rows/s, 10,000-row transactions", "CPU us/row")
    return _rows(header, rows)


def matrix(entries: Entries) -> str:
    rows = []
    for form, delivery, compression in product(FORMATS, DELIVERIES, ("none", "lz4")):
        keys = [f"rows_per_s.{form}.{delivery}.{compression}.{size}" for size in ("tx1", "tx10", "tx10000")]
        if any(key in entries for key in keys):
            rows.append((form, delivery, compression, *(_value(entries, key) for key in keys)))
    return _rows(("format", "delivery", "compression", "1-row", "10-row", "10,000-row"), rows)


def kinds(entries: Entries) -> str:
    rows = []
    for size in ("tx1", "tx10", "tx10000"):
        keys = [f"rows_per_s.{kind}s_{size}" for kind in ("insert", "update", "delete")]
        if any(key in entries for key in keys):
            rows.append((size.removeprefix("tx"), *(_value(entries, key) for key in keys)))
    return _rows(("rows per transaction", "inserts/s", "updates/s", "deletes/s"), rows)


def latency(entries: Entries) -> str:
    rows = []
    for delivery, (rate, key) in product(DELIVERIES, {"100": "latency_ms", "1,000": "latency_ms_1000"}.items()):
        cells = [_value(entries, f"{key}.{delivery}.{name}") for name in ("p50", "p99", "p999", "samples")]
        rows.append((delivery, rate, "librdkafka", *cells))
        if rate == "100":
            cells = [_value(entries, f"latency_ms_python.{delivery}.{name}") for name in ("p50", "p99", "p999")]
            rows.append((delivery, rate, "kafka-python", *cells, ""))
    cells = [_value(entries, f"latency_ms_baseline.exactly_once.{name}") for name in ("p50", "p99", "p999")]
    rows.append(("librdkafka's producer alone", "100", "librdkafka", *cells, ""))
    return _rows(("delivery", "rows/s", "consumer", "p50 ms", "p99 ms", "p99.9 ms", "samples"), rows)


SNAPSHOT_PATHS = {
    "debezium": "ours, format debezium",
    "maxwell": "ours, format maxwell",
    "peer.tuned": "Debezium, tuned, one thread",
    "peer.two_threads": "Debezium, tuned, two threads",
    "peer.defaults": "Debezium, default settings",
}


def snapshot(entries: Entries) -> str:
    rows = []
    for name, what in SNAPSHOT_PATHS.items():
        if f"snapshot.rate.{name}" not in entries:
            continue
        peer = name.startswith("peer.")
        whole = "-" if peer else _value(entries, f"snapshot.rate.{name}")
        steady = _value(entries, f"snapshot.rate.{name}" if peer else f"snapshot.rate.{name}.steady")
        cpu = _value(entries, f"snapshot.cpu_us.{name}" if peer else f"snapshot.cpu_us.{name}.steady")
        servers = (_value(entries, f"snapshot.cpu_us.{name}.{server}") for server in ("database", "broker"))
        memory = _value(entries, f"snapshot.memory_mb.{name}" if name != "debezium" else "snapshot.memory_mb")
        rows.append((what, whole, steady, cpu, *servers, memory))
    if not rows:
        return "Not measured yet."
    command = [_value(entries, f"snapshot.command.{key}") for key in ("rate", "cpu_us", "memory_mb")]
    rows.append(("`replicator run --snapshot-only`, whole process", command[0], "-", command[1], "-", "-", command[2]))
    rows.append(("the server's dump program, to /dev/null", _value(entries, "snapshot.rate.dump"), *("-",) * 5))
    header = ("path", "rows/s, whole", "rows/s, running", "CPU us/row", "database us/row", "broker us/row", "MB")
    return _rows(header, rows)


def snapshot_facts(entries: Entries) -> str:
    return entries["snapshot.measured"].reason if "snapshot.measured" in entries else ""


_RATIOS = (
    ("rows/s, format debezium, against Debezium tuned", "snapshot.debezium"),
    ("rows/s, format maxwell, against Debezium tuned", "snapshot.maxwell"),
    ("rows/s, format debezium, against Debezium with default settings", "snapshot.debezium.defaults"),
    ("rows/s, format maxwell, against Debezium with default settings", "snapshot.maxwell.defaults"),
    ("CPU per row, format debezium, against Debezium tuned", "snapshot.debezium_cpu"),
    ("rows/s, format debezium, whole, against the dump program", "snapshot.dump"),
    ("latency of the stream during a snapshot, median, ms", "snapshot.stream_lag_ms.p50"),
    ("the same, p99, ms", "snapshot.stream_lag_ms.p99"),
    ("the same, highest, ms", "snapshot.stream_lag_ms"),
    ("rows/s of the snapshot meanwhile", "snapshot.stream_lag_ms.copied"),
)


def snapshot_ratios(entries: Entries) -> str:
    rows = [(what, _value(entries, name)) for what, name in _RATIOS if name in entries]
    return _rows(("figure", "value"), rows) if rows else "Not measured yet."


_APPLIED = ("tx1", "1-row transactions"), ("tx10000", "10,000-row transactions")


def apply(entries: Entries) -> str:
    return _applied(entries, "apply.")


def apply_durable(entries: Entries) -> str:
    return _applied(entries, "apply.durable.")


def _applied(entries: Entries, prefix: str) -> str:
    if f"{prefix}rate.in_order.tx1" not in entries:
        return "Not measured yet."
    names = ("rate.in_order", "rate", "connections", "rate.replica", "in_order", "replica", "cpu_us", "memory_mb")
    rows = [(what, *(_value(entries, f"{prefix}{name}.{size}") for name in names)) for size, what in _APPLIED]
    head = ("rows/s, one connection", "rows/s, `order: key`", "connections", "rows/s of the replica")
    return _rows(("transactions of the source", *head, "ratio", "ratio by key", "CPU us/row", "MB"), rows)


def apply_latency(entries: Entries) -> str:
    if "apply.latency_ms.p99" not in entries:
        return "Not measured yet."
    rows = [(name, _value(entries, f"apply.latency_ms.{name}")) for name in ("p50", "p99", "samples")]
    return _rows(("latency at 1,000 transactions/s", "ms"), rows)


def apply_fill(entries: Entries) -> str:
    if "apply.fill" not in entries:
        return "Not measured yet."
    names = ("rate", "rate.dump", "cpu_us", "memory_mb")
    row = (*(_value(entries, f"apply.fill.{name}") for name in names), _value(entries, "apply.fill"))
    return _rows(("rows/s", "rows/s of the dump", "CPU us/row", "MB", "ratio"), [row])


def apply_sql(entries: Entries) -> str:
    if "apply.sql.load.fill" not in entries:
        return "Not measured yet."
    names = ("rate.binlog", "rate.load", "rate.insert", "load", "insert", "cpu_us.load", "cpu_us.insert")
    rows = [
        (what, *(_value(entries, f"apply.sql.{name}.{size}") for name in names))
        for size, what in (*_APPLIED, ("fill", "a snapshot into an empty table"))
    ]
    head = ("rows/s, `BINLOG`", "LOAD DATA", "INSERT", "share of LOAD DATA", "of INSERT", "CPU us/row, LOAD DATA")
    return _rows(("", *head, "INSERT"), rows)


def apply_facts(entries: Entries) -> str:
    return entries["apply.measured"].reason if "apply.measured" in entries else ""


def apply_sql_facts(entries: Entries) -> str:
    return entries["apply.sql.measured"].reason if "apply.sql.measured" in entries else ""


def group(*prefixes: str) -> Callable[[Entries], str]:
    """The figures whose names begin so; without that beginning where it is the same for all."""

    def rows(entries: Entries) -> str:
        found = [
            (
                name.removeprefix(prefixes[0]) if len(prefixes) == 1 else name,
                each.unit,
                number(each.value),
                str(each.runs),
            )
            for name, each in entries.items()
            if name.startswith(prefixes) and each.value is not None
        ]
        return _rows(("figure", "unit", "value", "samples"), found) if found else "Not measured yet."

    return rows


PARTS: dict[str, Callable[[Entries], str]] = {
    "machine": machine,
    "wanted": wanted,
    "paths": paths,
    "matrix": matrix,
    "kinds": kinds,
    "latency": latency,
    "snapshot": snapshot,
    "snapshot_facts": snapshot_facts,
    "snapshot_ratios": snapshot_ratios,
    "apply": apply,
    "apply_facts": apply_facts,
    "apply_durable": apply_durable,
    "apply_latency": apply_latency,
    "apply_fill": apply_fill,
    "apply_sql": apply_sql,
    "apply_sql_facts": apply_sql_facts,
    "fleet": group("fleet."),
    "monitor": group("monitor."),
    "shared": group("shared."),
    "many": group("many."),
    "handover": group("takeover_s.", "switchover_s.", "handover.", "lease."),
    "zookeeper": group("zookeeper."),
}


def page(entries: Entries) -> str:
    text = TEXT.read_text()
    for name, part in PARTS.items():
        text = text.replace(f"<!-- {name} -->", part(entries))
    return text


def write_page(entries: Entries, path: Path = PAGE) -> None:
    path.write_text(page(entries))


if __name__ == "__main__":  # the page anew, of figures that are there
    from dev.bench.report import read

    write_page(read())
