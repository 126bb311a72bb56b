"""The lists of what workers call: of today, and put to use before anything else is imported."""

from __future__ import annotations

import subprocess
import sys

from core import called, launcher, names

_OURS = ("replicator.", "core.")

_FIRST = """
import sys
from core import names
pages = {id(name) >> 12 for name in names._kept}  # those that were there before stand where they stood
assert len(pages) < 8 * sum(map(sys.getsizeof, names._kept)) / 4096, len(pages)
known = {name: id(name) for name in names._kept}
import core.template
from replicator.pipeline import Pipeline
used = [name for name in Pipeline._deliver.__code__.co_names if name in known]
assert len(used) > 30, used
assert all(id(name) == known[name] for name in used)
"""

_FOUND = f"""
import gc, core.template
from core import called
gc.unfreeze()
wanted = {{each for each in called.read() if each[0].startswith({_OURS!r})}}
found = {{(module, each.__code__.co_qualname) for each, module in called.find(frozenset(wanted))}}
gone = sorted(each for each in wanted - found if "<locals>" not in each[1] and "<" not in each[1])
assert len(gone) < 0.05 * len(wanted), f"python -m dev.called: {{len(gone)}} of {{len(wanted)}} are gone: {{gone}}"
"""


def _run(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_names_stand_together_and_are_the_ones_in_use() -> None:
    assert launcher.PRELOADED == ["core.names", "core.template"]
    _run(_FIRST)


def test_the_list_is_of_today() -> None:
    """Functions get other names; the list then gets worth less and less without a word."""
    _run(_FOUND)


def test_the_names_are_those_of_the_functions() -> None:
    words = names.LIST.read_text().split()
    assert words == sorted(set(words))
    assert {"_deliver", "acknowledged", "monotonic"} <= set(words)


def test_words_of_a_function() -> None:
    def outer(thing: object) -> object:
        found = thing.attribute  # type: ignore[attr-defined]
        return lambda: found.method(option="not a name")

    assert {"outer", "attribute", "method", "option", "<lambda>"} <= called.words(outer.__code__)
    assert "not a name" not in called.words(outer.__code__)
