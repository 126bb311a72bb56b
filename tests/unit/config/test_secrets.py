from __future__ import annotations

import os
from pathlib import Path

import pytest

from replicator.config.secrets import resolve
from replicator.errors import ConfigError
from replicator.host.access import SECRETS_DIRECTORY, SECRETS_ENV_PREFIX


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
    for name in ("missing", "large", "binary", "pipe", ""):
        assert code(f"file:{tmp_path}/{name}") == "E1006"
    assert code(f"file:{tmp_path}/nul\0") == "E1012"
    assert code("file:/dev/zero") == "E1006"


def test_links_may_not_lead_out_of_the_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kubernetes mounts a secret as a link to a file in a directory that is a link, all of them in the volume."""
    (tmp_path / "outside").write_text("no")
    mount = tmp_path / "mount"
    (mount / "..2026").mkdir(parents=True)
    (mount / "..2026" / "password").write_text("yes")
    (mount / "..data").symlink_to("..2026")
    (mount / "password").symlink_to("..data/password")
    (mount / "escape").symlink_to("../outside")
    (mount / "up").symlink_to("..")
    (mount / "loop").symlink_to("loop")
    monkeypatch.setenv(SECRETS_DIRECTORY, str(mount))
    assert resolve(f"file:{mount}/password") == "yes"
    assert code(f"file:{mount}/escape") == "E1012"
    assert code(f"file:{mount}/up/outside") == "E1012"
    assert code(f"file:{mount}/loop") == "E1006"


def test_files_are_confined_to_the_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("in", "too", "in-not"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a").write_text(name)
    monkeypatch.setenv(SECRETS_DIRECTORY, f"{tmp_path}/in:{tmp_path}/too")
    assert resolve(f"file:{tmp_path}/in/a") == "in"
    assert resolve(f"file:{tmp_path}/too//./a") == "too"
    for path in ("in-not/a", "in/../in-not/a", "in/../in/a", "in", "in/", "."):
        assert code(f"file:{tmp_path}/{path}") in ("E1006", "E1012")
    assert code(f"file:{tmp_path}/in-not/a") == "E1012"
    (tmp_path / "link").symlink_to(tmp_path / "in")
    monkeypatch.setenv(SECRETS_DIRECTORY, str(tmp_path / "link"))
    assert resolve(f"file:{tmp_path}/link/a") == "in", "the operator's own directory may be a link"


def test_what_is_outside_is_refused_without_a_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same words whether or not the file is there, so that nobody learns what is on this host."""
    monkeypatch.setenv(SECRETS_DIRECTORY, str(tmp_path / "in"))
    said = []
    for name in ("there", "not"):
        (tmp_path / "there").write_text("x")
        with pytest.raises(ConfigError) as raised:
            resolve(f"file:{tmp_path}/{name}")
        said.append(str(raised.value).replace(f"/{name}'", ""))
    assert said[0] == said[1]


@pytest.mark.parametrize("path", ["/etc/passwd", "/proc/self/environ", "/run/secrets/token", "/etc/ssl/certs/x.pem"])
def test_by_default_only_one_directory_can_be_read(monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.delenv(SECRETS_DIRECTORY)
    assert code(f"file:{path}") == "E1012"
    assert code("file:/etc/mysql-replicator/secrets/none-of-this-name") == "E1006"


def test_by_default_only_variables_with_our_prefix_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SECRETS_ENV_PREFIX)
    for name in ("REPL_PASSWORD", "AWS_SECRET_ACCESS_KEY", "DATABASE_URL", "REPLICATOR_TOKEN", "repl_x", "XREPL_"):
        monkeypatch.setenv(name, "value")
    assert resolve("env:REPL_PASSWORD") == "value"
    for name in ("AWS_SECRET_ACCESS_KEY", "DATABASE_URL", "REPLICATOR_TOKEN", "repl_x", "XREPL_", "HOME", "NOT_SET"):
        assert code(f"env:{name}") == "E1012", name


def test_other_prefixes(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("REPL_A", "BUS_A", "REPLICATOR_TOKEN", "OTHER"):
        monkeypatch.setenv(name, "value")
    monkeypatch.setenv(SECRETS_ENV_PREFIX, "BUS_ REPLICATOR_")
    assert resolve("env:BUS_A") == "value"
    assert [code(f"env:{name}") for name in ("REPL_A", "OTHER", "REPLICATOR_TOKEN")] == ["E1012"] * 3
    monkeypatch.setenv(SECRETS_ENV_PREFIX, "*")
    assert resolve("env:OTHER") == "value"
    assert code("env:REPLICATOR_TOKEN") == "E1012", "which opens the Server's API"
