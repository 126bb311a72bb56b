from __future__ import annotations

import os
from pathlib import Path

import pytest

from replicator.config.secrets import DIRECTORY, resolve
from replicator.errors import ConfigError


def code(reference: str) -> str:
    with pytest.raises(ConfigError) as caught:
        resolve(reference)
    return caught.value.code


def test_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPL_PASSWORD", "s3cret\n")
    assert resolve("env:REPL_PASSWORD") == "s3cret\n"
    monkeypatch.delenv("REPL_PASSWORD")
    assert code("env:REPL_PASSWORD") == "E1006"


@pytest.mark.parametrize(
    ("content", "secret"), [(b"pw\n", "pw"), (b"pw\r\n", "pw"), (b"pw\n\n", "pw\n"), (b"", ""), (b" p w ", " p w ")]
)
def test_one_trailing_newline_of_a_file_is_stripped(tmp_path: Path, content: bytes, secret: str) -> None:
    (tmp_path / "password").write_bytes(content)
    assert resolve(f"file:{tmp_path}/password") == secret


def test_what_is_no_regular_readable_text_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"x" * (64 * 1024 + 1))
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    os.mkfifo(tmp_path / "pipe")
    for name in ("missing", "large", "binary", "pipe", "", "nul\0"):
        assert code(f"file:{tmp_path}/{name}") == "E1006"
    assert code("file:/dev/zero") == "E1006"


def test_a_symlink_may_not_lead_out_of_its_directory(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("no")
    mount = tmp_path / "mount"
    (mount / "..data").mkdir(parents=True)
    (mount / "..data" / "password").write_text("yes")
    (mount / "password").symlink_to("..data/password")
    (mount / "escape").symlink_to("../outside")
    assert resolve(f"file:{mount}/password") == "yes"
    assert code(f"file:{mount}/escape") == "E1006"


def test_files_can_be_confined_to_one_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a").write_text("a")
    (tmp_path / "b").write_text("b")
    monkeypatch.setenv(DIRECTORY, str(tmp_path / "in"))
    assert resolve(f"file:{tmp_path}/in/a") == "a"
    assert code(f"file:{tmp_path}/b") == "E1006"
    assert code(f"file:{tmp_path}/in/../b") == "E1006"


@pytest.mark.parametrize("reference", ["hunter2", "", "env:", "file:", "file:relative", "vault:x"])
def test_anything_else_is_a_literal_and_is_not_repeated(reference: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve(reference)
    assert caught.value.code == "E1005"
    assert "hunter2" not in str(caught.value)
