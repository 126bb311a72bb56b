"""Tables of machines: the hosts of Cores and agents, with their vitals and tasks. And `replicator machines`."""

from __future__ import annotations

import time
from typing import Any, Final

import click

from replicator.cli.listing import fitted, show
from replicator.cli.task import render
from replicator.cli.task.client import Client
from replicator.cli.task.options import output_option, with_client
from replicator.cli.terminal import clean, table

_COLUMNS: Final = (
    *("HOST", "STATE", "ROLE", "RUNNING", "STANDBY", "OTHER"),
    *("LOAD", "MEMORY", "DISK", "REPORT", "PROCESS", "UP", "VERSION"),
)
_WIDE: Final = ("CPU", "NETWORK", "GROUP", "EXPECTED", "TASKS")
_IMPORTANCE: Final = (
    *("HOST", "STATE", "RUNNING", "REPORT", "STANDBY", "LOAD", "MEMORY", "DISK", "ROLE", "OTHER"),
    *("PROCESS", "UP", "VERSION"),
)
_COLOURS: Final = {"online": None, "silent": "yellow", "offline": "red", "stopped": None}
_EMPTY: Final = "No machine is online or expected. Start a Core: replicator core --zookeeper ..."


@click.command("machines")
@output_option("table", "wide", "tsv", "json", "yaml", "name")
@click.option("--no-headers", is_flag=True, help="Print no header line.")
@with_client
def command(output: str, no_headers: bool, client: Client) -> None:
    """List the machines: state, number of tasks by role, load, memory, fullest disk, time since the last report.

    A machine is offline if it is expected, because it has reported once or by `replicator machine expect`, and not
    there without having ended on purpose. `-o wide` adds CPU, network, group, and the tasks by name.
    """
    show_list(output, no_headers, client)


def show_list(output: str, no_headers: bool, client: Client) -> None:
    show(client.machines(), output, lambda items: text(items, output, heading=not no_headers), _EMPTY)


def text(items: list[dict[str, Any]], output: str, *, heading: bool = True) -> str:
    everything = output in ("wide", "tsv")
    header = [*_COLUMNS, *(_WIDE if everything else ())]
    rows = [[*_row(item), *(_wide(item) if everything else ())] for item in items]
    if output == "tsv":
        return render.tab_separated(header, rows, heading=heading)
    return fitted(header, rows, _IMPORTANCE, all_columns=output != "table", heading=heading)


def _row(item: dict[str, Any]) -> list[str]:
    states = list(item["tasks"].values())
    running, standby = states.count("running"), states.count("standby")
    return [
        clean(item["name"]),
        state(item),
        clean(item["role"]) or "-",
        str(running),
        str(standby),
        str(len(states) - running - standby),
        f"{item['load1']:.2f} of {item['cores']}" if item["host"] else "-",
        memory(item),
        _fullest(item),
        report(item),
        f"{item['rss_bytes'] / 1e6:.0f}MB" if item["host"] else "-",
        render.duration(time.time() - item["started_ms"] / 1000) if item["host"] else "-",
        clean(item["version"]) or "-",
    ]


def _wide(item: dict[str, Any]) -> list[str]:
    return [cpu(item), network(item), clean(item["group"]) or "-", item["expected"] or "-", _tasks(item)]


def state(item: dict[str, Any]) -> str:
    """`online`, `online,draining`"""
    text = item["state"] + (",draining" if item["draining"] else "")
    return click.style(text, fg=_COLOURS[item["state"]]) if _COLOURS[item["state"]] else text


def report(item: dict[str, Any]) -> str:
    if item["state"] in ("online", "silent"):
        return f"{render.duration(item['age_s'])} ago"
    if item["state"] == "stopped":
        return f"ended {render.duration(time.time() - item['stopped_ms'] / 1000)} ago"
    return "-"


def memory(item: dict[str, Any]) -> str:
    total = item["memory_total_bytes"]
    return f"{100 * item['memory_bytes'] / total:.0f}% of {total / 1e9:.0f}GB" if total else "-"


def cpu(item: dict[str, Any]) -> str:
    return f"{100 * item['cpu']:.0f}%" if item["cpu"] is not None else "-"


def network(item: dict[str, Any]) -> str:
    if item["received_per_s"] is None or item["sent_per_s"] is None:
        return "-"
    return f"{_size(item['received_per_s'])}/s in,{_size(item['sent_per_s'])}/s out"


def _size(number: float) -> str:
    for limit, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if number >= limit:
            return f"{number / limit:.1f}{unit}"
    return f"{number:.0f}B"


def _share(disk: dict[str, Any]) -> float:
    room = disk["used_bytes"] + disk["free_bytes"]
    return disk["used_bytes"] / room if room else 0.0


def _fullest(item: dict[str, Any]) -> str:
    disk = max(item["disks"], key=_share, default=None)
    return f"{100 * _share(disk):.0f}% {clean(disk['mount'])}" if disk else "-"


def _tasks(item: dict[str, Any]) -> str:
    """`orders=running,prices=standby`"""
    return clean(",".join(f"{name}={state}" for name, state in sorted(item["tasks"].items()))) or "-"


def described(item: dict[str, Any]) -> str:
    """One machine, for people."""
    lines = [("Name", clean(item["name"])), ("State", state(item)), ("Expected", _expected(item))]
    if item["state"] != "offline":
        lines.append(("Last report", report(item)))
    if item["host"]:
        process = f"pid {item['pid']}, version {clean(item['version']) or 'unknown'}, up {_since(item['started_ms'])}"
        lines += [
            ("Role", clean(item["role"]) + (f", group {clean(item['group'])}" if item["group"] else "")),
            ("Process", f"{process}, {item['rss_bytes'] / 1e6:.0f}MB, session {item['session_timeout_s']:g}s"),
            ("Load", f"{item['load1']:.2f} of {item['cores']} processors, {cpu(item)} busy"),
            ("Memory", memory(item)),
            ("Network", network(item)),
            ("Booted", f"{_since(item['booted_ms'])} ago" if item["booted_ms"] else "-"),
        ]
    text = "".join(f"{f'{name}:':<13}{value}\n" for name, value in lines)
    if item["disks"]:
        rows = [[clean(one["mount"]), f"{100 * _share(one):.0f}%", _size(one["free_bytes"])] for one in item["disks"]]
        text += "\n" + table(["DISK", "USED", "FREE"], rows)
    if item["tasks"]:
        text += "\n" + table(["TASK", "STATE"], [[clean(name), one] for name, one in sorted(item["tasks"].items())])
    return text


def _since(ms: int) -> str:
    return render.duration(time.time() - ms / 1000)


def _expected(item: dict[str, Any]) -> str:
    if not item["expected"]:
        return "no"
    since = f"since {render.moment(item['expected_since_ms'])}"
    if item["expected"] == "learned":
        return f"{since}, when it first reported (version {item['expected_version']})"
    reason = f": {clean(item['expected_reason'])}" if item["expected_reason"] else ""
    return f"{since}, by {clean(item['expected_by']) or 'unknown'}{reason} (version {item['expected_version']})"
