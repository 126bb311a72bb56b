"""Flame graphs of a run, one for each side of the pipeline: py-spy's collapsed stacks drawn as SVG."""

from __future__ import annotations

import html
import shutil
import sys
import tempfile
import zlib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from dev.bench.load import Segment
from dev.bench.report import Entry, absent, figure
from dev.bench.runner import Runner

FOLDER = Path("build")
_WIDTH, _ROW, _LEAST = 1200.0, 17, 0.4  # pixels
_SIDES = {
    "reader": "_run (replicator/pipeline/reader.py",
    "deliver": "_deliver (replicator/pipeline/pipeline.py",
    "client": "(kafka/",  # the client's own threads
}


def flames(runner: Runner, segments: dict[str, Segment]) -> Iterator[Entry]:
    """build/flame-SIDE-SIZE.svg, and the share of the samples that each side has. Without py-spy: why not."""
    spy = shutil.which("py-spy", path=str(Path(sys.executable).parent)) or shutil.which("py-spy")
    if spy is None:
        yield absent("flames", "files", "py-spy is not installed")
        return
    for size, segment in segments.items():
        with tempfile.NamedTemporaryFile(suffix=".txt") as file:
            options = ("--native", "--threads", "--rate", "100", "--format", "raw", "--output", file.name)
            runner.run("ours", segment, prefix=(spy, "record", *options, "--"))
            sides = by_side(Path(file.name).read_text().splitlines())
        total = sum(sum(stacks.values()) for stacks in sides.values()) or 1
        FOLDER.mkdir(exist_ok=True)
        for side, stacks in sides.items():
            (FOLDER / f"flame-{side}-{size}.svg").write_text(svg(stacks, f"{side}, {size}"))
            yield figure(f"flame.{side}.{size}", "% of samples", [sum(stacks.values()) / total * 100])


Stacks = dict[tuple[str, ...], int]


def by_side(lines: list[str]) -> dict[str, Stacks]:
    """Collapsed stacks (`thread;frame;frame count`) by the side of the pipeline that they belong to. Frames tell it:
    the profiler does not know the names of all threads."""
    found: dict[str, Stacks] = defaultdict(dict)
    for line in lines:
        text, _, count = line.rpartition(" ")
        side = next((side for side, frame in _SIDES.items() if frame in text), "start")
        stack = tuple(text.split(";")[1:])
        found[side][stack] = found[side].get(stack, 0) + int(count)
    return dict(found)


class Frame:
    """A box: how many samples, and the boxes above it."""

    def __init__(self) -> None:
        self.count = 0
        self.above: dict[str, Frame] = {}

    @classmethod
    def of(cls, stacks: Stacks) -> Self:
        root = cls()
        for stack, count in stacks.items():
            here: Frame = root
            here.count += count
            for name in stack:
                here = here.above.setdefault(name, Frame())
                here.count += count
        return root

    @property
    def height(self) -> int:
        return 1 + max((each.height for each in self.above.values()), default=0)


def svg(stacks: Stacks, title: str) -> str:
    """The classic drawing: width is time, callers stand below what they call; names show in full under the mouse."""
    root = Frame.of(stacks)
    height = (root.height + 2) * _ROW
    boxes = "\n".join(_boxes(root, title, 0.0, _WIDTH / max(root.count, 1), height - _ROW))
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH:.0f}" height="{height}" font-size="11"'
    return f'{head} font-family="monospace">\n{boxes}\n</svg>\n'


def _boxes(frame: Frame, name: str, left: float, scale: float, top: int) -> Iterator[str]:
    width = frame.count * scale
    if width < _LEAST:
        return
    hue = zlib.crc32(name.encode()) % 50
    room = int(width / 6.7)
    shown = html.escape(name if len(name) <= room else name[: max(room - 2, 0)] + "..") if room > 4 else ""
    share = frame.count * scale / _WIDTH * 100
    yield (
        f"<g><title>{html.escape(name)} ({share:.1f} %)</title>"
        f'<rect x="{left:.1f}" y="{top}" width="{width:.1f}" height="{_ROW - 1}" fill="hsl({hue},75%,68%)"/>'
        f'<text x="{left + 3:.1f}" y="{top + 12}">{shown}</text></g>'
    )
    for above, child in sorted(frame.above.items()):
        yield from _boxes(child, above, left, scale, top - _ROW)
        left += child.count * scale
