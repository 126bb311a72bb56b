"""Draws docs/performance.png: rows per second and CPU per row, of replicator and of the alternatives."""

from __future__ import annotations

from pathlib import Path

from dev.bench.report import Entry
from dev.paths import TREE

PNG = TREE / "docs" / "performance.png"
_NAMES = {
    "debezium.peer": "Debezium, tuned",
    "plain": "plain packages",
    "twin": "ours, in Python",
    "debezium": "ours, debezium",
    "maxwell": "ours, maxwell",
    "canal": "ours, canal",
}
_OURS, _OTHERS = "#1f6f5c", "#b9bdc4"


def draw(entries: dict[str, Entry], path: Path = PNG) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(2, 2, figsize=(8.6, 4.4), layout="constrained")
    for row, (size, title) in enumerate({"tx1": "1-row transactions", "tx10000": "10,000-row transactions"}.items()):
        _bars(panels[row][0], entries, f"rate.{{}}.{size}", f"rows/s, {title}", 0)
        _bars(panels[row][1], entries, f"cpu_us.{{}}.{size}", f"CPU per row, us, {title}", 1)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)
    pyplot.close(figure)


def _bars(panel: object, entries: dict[str, Entry], key: str, title: str, digits: int) -> None:
    from matplotlib.axes import Axes

    assert isinstance(panel, Axes)
    found = {label: entries[key.format(name)].value for name, label in _NAMES.items() if key.format(name) in entries}
    known = {label: value for label, value in found.items() if value}
    colours = [_OURS if label.startswith("ours") else _OTHERS for label in known]
    bars = panel.barh(list(known), list(known.values()), color=colours)
    panel.bar_label(bars, labels=[f"{value:,.{digits}f}" for value in known.values()], padding=3, fontsize=7)
    panel.set_title(title, fontsize=9, loc="left")
    panel.tick_params(labelsize=7)
    panel.margins(x=0.18)
    panel.spines[["top", "right", "bottom"]].set_visible(False)
    panel.set_xticks([])
