from __future__ import annotations

import stat
import threading
from pathlib import Path

import pytest

from replicator.config.token import default_token_file, ensure_token, read_token
from replicator.errors import ConfigError


def test_it_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "server.token"
    token, made = ensure_token(path)
    assert made and len(token) >= 40
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) & 0o077 == 0
    assert ensure_token(path) == (token, False)
    assert read_token(path) == token
    assert list(path.parent.iterdir()) == [path]


def test_servers_that_start_together_agree(tmp_path: Path) -> None:
    path = tmp_path / "server.token"
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(ensure_token(path)[0])) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8 and len(set(found)) == 1


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o660, 0o604])
def test_a_file_that_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "server.token"
    ensure_token(path)
    path.chmod(mode)
    with pytest.raises(ConfigError, match=f"E1006.*chmod 600 {path}"):
        ensure_token(path)


@pytest.mark.parametrize("content", ["", "short", "two words in one line", "x" * 20 + "\0"])
def test_what_is_no_token_is_refused_and_not_shown(tmp_path: Path, content: str) -> None:
    path = tmp_path / "server.token"
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(ConfigError, match="E1006") as caught:
        read_token(path)
    assert not content or content not in str(caught.value)


def test_places_that_can_not_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for path in (tmp_path, tmp_path / "file" / "server.token"):
        with pytest.raises(ConfigError, match="E1006"):
            ensure_token(path)


def test_the_default_follows_xdg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert default_token_file() == tmp_path / "mysql-replicator" / "server.token"
    monkeypatch.delenv("XDG_STATE_HOME")
    assert default_token_file() == Path.home() / ".local/state/mysql-replicator/server.token"
