"""typings/ against the installed libraries: no name, parameter or setting that they do not have."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys

import pytest

from dev.paths import TREE

STUBS = TREE / "typings"
SETTINGS = {
    "AdminConfig": ("kafka.admin", "KafkaAdminClient"),
    "ConsumerConfig": ("kafka.consumer", "KafkaConsumer"),
    "ProducerConfig": ("kafka.producer", "KafkaProducer"),
}
"""TypedDict in a stub -> the class whose keyword arguments it names."""


def test_stubs_have_what_the_libraries_have() -> None:
    """By mypy's stubtest, which imports them. What they have besides is left out on purpose."""
    command = [sys.executable, "-m", "mypy.stubtest", "kafka", "kazoo", "--concise", "--ignore-missing-stub"]
    options = ["--allowlist", str(STUBS / "stubtest.txt"), "--mypy-config-file", str(TREE / "pyproject.toml")]
    done = subprocess.run([*command, *options], cwd=TREE, capture_output=True, text=True, timeout=150)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_of_the_kafka_clients(name: str) -> None:
    """A stub types `**configs`, which stubtest takes for whatever it is."""
    module, client = SETTINGS[name]
    tree = ast.parse((STUBS / module.replace(".", "/") / "__init__.pyi").read_text())
    (found,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    keys = {
        node.target.id for node in found.body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    assert keys
    assert keys <= getattr(importlib.import_module(module), client).DEFAULT_CONFIG.keys()


def test_every_stub_is_of_a_library() -> None:
    """Stubs of modules that are gone would not be noticed by stubtest, which goes by what is installed."""
    for path in STUBS.rglob("*.pyi"):
        name = ".".join(path.relative_to(STUBS).with_suffix("").parts).removesuffix(".__init__")
        importlib.import_module(name)
