"""The Python versions that are declared are those that are tested."""

from __future__ import annotations

import tomllib

from dev.paths import TREE
from dev.pythons import NEWEST, OLDEST

PREFIX = "Programming Language :: Python :: "


def test_the_package_declares_what_is_tested() -> None:
    project = tomllib.loads((TREE / "pyproject.toml").read_text())["project"]
    declared = [each.removeprefix(PREFIX) for each in project["classifiers"] if each.startswith(PREFIX)]
    assert declared == [f"3.{minor}" for minor in range(OLDEST[1], NEWEST[1] + 1)]
    assert project["requires-python"] == f">=3.{OLDEST[1]},<3.{NEWEST[1] + 1}"
