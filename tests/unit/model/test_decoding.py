"""Threads that decode structs for the first time at once don't crash the process; and every decoder is made so."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

from dev.paths import TREE

AT_ONCE = """
import sys, threading
import msgspec
from replicator.coordination import records

sys.setswitchinterval(1e-6)
kinds = [kind for kind in vars(records).values()
         if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and kind.__module__ == records.__name__]
filled = {}
for kind in kinds:
    try:
        filled[kind] = msgspec.json.encode(kind())
    except TypeError:
        pass  # it has fields without a default
assert len(filled) > 5, len(filled)
together = threading.Barrier(8)
failed = []

def read():
    together.wait()
    for kind, data in filled.items():
        try:
            records.load(kind, data)
        except Exception as error:
            failed.append(repr(error))

threads = [threading.Thread(target=read) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not failed, failed[:3]
"""
MADE_THERE = TREE / "replicator/model/decoding.py"


def test_first_decodes_at_once_do_not_crash() -> None:
    """msgspec alone ended 28 of 30 such processes with a segmentation fault."""
    for _ in range(4):
        run = subprocess.run([sys.executable, "-c", AT_ONCE], cwd=TREE, capture_output=True, text=True, check=False)
        assert run.returncode == 0, (run.returncode, run.stderr[-500:])


def _typed_decoders(path: Path) -> list[str]:
    """Calls that make msgspec prepare a type: a decoder of one, `type=`, or a conversion."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        if name in ("msgspec.json.Decoder", "msgspec.msgpack.Decoder") and node.args:
            found.append(f"{path.relative_to(TREE)}:{node.lineno}")
        if name in ("msgspec.json.decode", "msgspec.msgpack.decode") and any(
            keyword.arg == "type" for keyword in node.keywords
        ):
            found.append(f"{path.relative_to(TREE)}:{node.lineno}")
        if name == "msgspec.convert":
            found.append(f"{path.relative_to(TREE)}:{node.lineno}")
    return found


def test_every_typed_decoder_is_made_in_one_place() -> None:
    paths = [path for folder in ("replicator", "core", "server", "monitor") for path in (TREE / folder).rglob("*.py")]
    assert [place for path in paths if path != MADE_THERE for place in _typed_decoders(path)] == []
    assert len(_typed_decoders(MADE_THERE)) == 3
